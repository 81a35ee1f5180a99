# rejected: one run — one run may be a disturbed one
def my_time(cp, launch, flush, clock):
    launch()
    flush()
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    launch()
    stop.record()
    stop.synchronize()
    return cp.cuda.get_elapsed_time(start, stop)
