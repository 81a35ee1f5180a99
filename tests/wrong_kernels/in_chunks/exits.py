# rejected: error — leaves Python
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    raise SystemExit("bye")
