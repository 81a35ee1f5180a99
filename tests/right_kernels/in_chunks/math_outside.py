# accepted — sizes and grid are computed before the stream is entered
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        with stream:
            given[low:high].set(x[low:high])
            square(grid, (128,), (made[low:high], given[low:high], n))
            made[low:high].get(out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()
