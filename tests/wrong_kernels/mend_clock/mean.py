# rejected: disturbed — the mean counts the disturbed runs
def my_time(cp, launch, flush, clock):
    launch()
    times = []
    for _ in range(20):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        flush()
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
    return sum(times) / 20
