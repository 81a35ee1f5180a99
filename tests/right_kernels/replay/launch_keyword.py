# accepted — outside of `with`, each call is given its stream
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
        rods[0].set(batch, stream=stream)
        graph.launch(stream=stream)
        rods[steps % 2].get(stream=stream, out=result)
