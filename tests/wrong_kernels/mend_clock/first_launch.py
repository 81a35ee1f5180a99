# rejected: compile — the compiler is in it
def my_time(cp, launch, flush, clock):
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    launch()
    stop.record()
    stop.synchronize()
    return cp.cuda.get_elapsed_time(start, stop)
