"""The small op set in which a compiler derives every gradient: each rule is made of the same few ops. Imports the engine, the ops and the record.

>>> import numpy as np
>>> from tensorviz import tensor
>>> from tensorviz import primitives as p
>>> x = tensor([1.0, 5.0, 5.0, 2.0], requires_grad=True, name="x")
>>> graph = p.grad_graph(p.reduce(x, "max"))
>>> graph.grad("x").tolist()
[0.0, 0.5, 0.5, 0.0]
>>> graph.ops
('reshape', 'expand', 'equal', 'astype', 'reduce_add', 'reshape', 'expand', 'mul', 'reshape', 'expand', 'div')

============  =========================================  =============================================================
primitive     what it does                               its gradient
============  =========================================  =============================================================
``reshape``   the same elements in another shape         reshape back
``permute``   the axes in another order                  permute with the inverse order
``pad``       zeros around it                            shrink
``shrink``    a block of it                              pad
``stack``     one behind the other, a new leading axis   index
``index``     one element of the leading axis            reshape, pad
``stage``     computed once and kept                     stage
``expand``    repeated along axes                        permute the grown axes to the front, reduce add, reshape
``reduce``    add, max, mul over leading axes            add: reshape, expand. max: hits * g / count. mul: none
elementwise   add, mul, max, compare, cast, where, ...   products with g; of max hits * g / count
============  =========================================  =============================================================
"""

from tensorviz.primitives.axes import inverse_order, summed_axes
from tensorviz.primitives.blocks import index, pad, shrink, stack
from tensorviz.primitives.counts import Counts, NodeCount, recompute_counts
from tensorviz.primitives.elementwise import add, cast, compare, div, max, mul, neg, stop, sub, where
from tensorviz.primitives.gradient import grad_graph
from tensorviz.primitives.graph import GradGraph, GradStep, only_primitives
from tensorviz.primitives.kinds import ELEMENTWISE, FUNCTIONS, MOVEMENT, PRIMITIVES, REDUCTION, is_primitive
from tensorviz.primitives.movement import expand, permute, reshape, stage
from tensorviz.primitives.reduction import reduce

__all__ = [
    "ELEMENTWISE",
    "FUNCTIONS",
    "MOVEMENT",
    "PRIMITIVES",
    "REDUCTION",
    "Counts",
    "GradGraph",
    "GradStep",
    "NodeCount",
    "add",
    "cast",
    "compare",
    "div",
    "expand",
    "grad_graph",
    "index",
    "inverse_order",
    "is_primitive",
    "max",
    "mul",
    "neg",
    "only_primitives",
    "pad",
    "permute",
    "recompute_counts",
    "reduce",
    "reshape",
    "shrink",
    "stack",
    "stage",
    "stop",
    "sub",
    "summed_axes",
    "where",
]
