# rejected: not waited for — the host's clock stops when the launch has been queued
def my_time(cp, launch, flush, clock):
    start = clock()
    launch()
    return 1e3 * (clock() - start)
