"""Every op beside PyTorch, HIPS autograd and central differences: the cases, the peers that run them, and the page that tells the outcome."""
