# rejected: hazard — the kernel goes to the default stream, which does not wait for the copy
def in_chunks(cp, square, x, y, device, size, streams):
    """y = x * x in chunks of `size` elements; chunk c goes through stream c % len(streams)."""
    given, made = device  # arrays on the GPU, as long as x
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        given[low:high].set(x[low:high], stream=stream)
        square(grid, (128,), (made[low:high], given[low:high], n))
        made[low:high].get(stream=stream, out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()
