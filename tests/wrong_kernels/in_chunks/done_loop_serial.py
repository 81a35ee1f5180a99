# rejected: counter — asks until the chunk is done, before it orders the next: nothing overlaps
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        with stream:
            given[low:high].set(x[low:high])
            square(((size + 127) // 128,), (128,), (made[low:high], given[low:high], np.int32(high - low)))
            made[low:high].get(out=y[low:high], blocking=False)
        while not stream.done:
            pass  # the host waits in the loop: no overlap
