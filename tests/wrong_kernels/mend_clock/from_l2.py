# rejected: warm — the launch before left its arrays in L2
def my_time(cp, launch, flush, clock):
    launch()
    times = []
    for _ in range(20):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
    return sorted(times)[10]
