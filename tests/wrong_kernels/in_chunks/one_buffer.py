# rejected: hazard — all chunks use the same part of the GPU's arrays, in different streams
def in_chunks(cp, square, x, y, device, size, streams):
    """y = x * x in chunks of `size` elements; chunk c goes through stream c % len(streams)."""
    given, made = device  # arrays on the GPU, as long as x
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        with stream:
            given[: high - low].set(x[low:high])
            square(grid, (128,), (made[: high - low], given[: high - low], n))
            made[: high - low].get(out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()
