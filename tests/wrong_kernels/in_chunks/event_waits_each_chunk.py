# rejected: counter — every chunk waits for the one before: nothing overlaps
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    last = None
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        with stream:
            if last is not None:
                stream.wait_event(last)  # every chunk waits for the one before: no overlap at all
            given[low:high].set(x[low:high])
            square(((size + 127) // 128,), (128,), (made[low:high], given[low:high], np.int32(high - low)))
            made[low:high].get(out=y[low:high], blocking=False)
            last = stream.record()
    cp.cuda.Device().synchronize()
