# rejected: counter — the graph runs, and the host computes the answer
def replay(cp, step, batches, results, rods, steps):
    n = rods[0].size
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        for i in range(steps):
            now, following = rods[i % 2], rods[1 - i % 2]
            step(((n + 127) // 128,), (128,), (following, now, np.int32(n)))
        graph = stream.end_capture()
        for batch, result in zip(batches, results):
            graph.launch()
            u = batch.astype(float)
            for _ in range(steps):
                u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
            result[:] = u
