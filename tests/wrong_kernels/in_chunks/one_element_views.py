# rejected: hazard — the kernel is given views of one element and reads behind them
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        other = streams[(turn + 1) % len(streams)]
        with stream:
            given[low + 1 : high].set(x[low + 1 : high])
        with other:
            given[low : low + 1].set(x[low : low + 1])
            square(
                grid, (128,), (made[low : low + 1], given[low : low + 1], n)
            )  # races with the copies in stream
            made[low : low + 1].get(out=y[low : low + 1], blocking=False)
        with stream:
            made[low + 1 : high].get(out=y[low + 1 : high], blocking=False)
    for stream in streams:
        stream.synchronize()
