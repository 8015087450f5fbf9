"""The visual debugger for backward passes: write NumPy maths, call ``backward()``, and step through every share of gradient.

>>> import tensorviz as tv
>>> x = tv.tensor([1.0, 2.0, 3.0], requires_grad=True, name="x")
>>> y = (x * x).sum()
>>> trace = y.backward()
>>> x.grad
array([2., 4., 6.])
"""

from tensorviz.engine.graph import enable_grad, is_grad_enabled, no_grad, scope
from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.trace import Share, Source, Step, Trace, TraceNode

__version__ = "0.1.0"
