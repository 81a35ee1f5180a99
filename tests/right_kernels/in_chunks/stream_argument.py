# accepted — every call is given its stream, and no stream is entered
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        if True:
            given[low:high].set(x[low:high], stream)
            square(grid, (128,), (made[low:high], given[low:high], n), stream=stream)
            made[low:high].get(stream, out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()
