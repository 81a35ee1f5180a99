# rejected: hazard — the host overwrites x while copies of it may still be on their way, and waits for none
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        with stream:
            given[low:high].set(x[low:high])
    x[:] = 0
