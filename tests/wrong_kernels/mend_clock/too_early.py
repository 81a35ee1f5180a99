# rejected: not ready — nobody waits for the second event
def my_time(cp, launch, flush, clock):
    launch()
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    launch()
    stop.record()
    return cp.cuda.get_elapsed_time(start, stop)
