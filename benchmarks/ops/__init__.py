"""One file per operation; each defines OPS, a list of `benchmarks.op.Op`."""
