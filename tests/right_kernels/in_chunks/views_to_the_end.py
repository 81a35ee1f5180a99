# accepted — the views that the kernel gets reach beyond the chunk; n bounds it
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        with stream:
            given[low:high].set(x[low:high])
            square(grid, (128,), (made[low:], given[low:], n))
            made[low:high].get(out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()
