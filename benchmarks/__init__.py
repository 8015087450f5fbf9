"""Benchmarks: tensorviz against hand-written NumPy and its peers. Nothing in the package imports this."""
