"""The engine: Tensors, the recorded graph and the one backward sweep. It knows no particular op."""
