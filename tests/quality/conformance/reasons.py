"""Why a judge disagrees, and whom we follow: one sentence for every function and judge that differ in some case."""

from __future__ import annotations

from .case import NUMPY_2

NUMPY = "we do what NumPy does"

REASONS = {
    ("np.where", "autograd"): "its rule does not sum the axes along which an operand was broadcast; rule 1 does",
    (
        "np.linalg.norm",
        "autograd",
    ): "orders below 1 are not implemented, and for ord=inf its formula for p-norms gives NaN; ours routes to the largest element",
    ("np.transpose", "autograd"): "it inverts the permutation without bringing negative axes to positive ones",
    ("np.rollaxis", "autograd"): f"negative axes are not implemented; {NUMPY}",
    ("np.broadcast_to", "autograd"): "new leading axes are not implemented; rule 1 sums them",
    ("np.pad", "autograd"): "only the mode constant is implemented; ours sends the gradient of every copy back to its element",
    (
        "np.repeat",
        "autograd",
    ): "it mixes up the elements for a negative axis and takes no counts per element; ours agrees with differences and PyTorch",
    ("np.tile", "autograd"): "it tiles the first axis for the last where there are fewer numbers than axes; ours agrees with differences and PyTorch",
    ("np.roll", "autograd"): f"several shifts are not implemented; {NUMPY}",
    ("np.sort", "autograd"): "implemented for one axis only",
    ("np.partition", "autograd"): "implemented for one axis only",
    ("np.diagonal", "autograd"): "implemented for the last two axes only",
    ("np.trace", "autograd"): "other axes than the first two are not implemented",
    ("np.gradient", "autograd"): "distances are not implemented",
    ("np.dot", "autograd"): "its boxes have no method dot",
    ("np.outer", "autograd"): f"operands with more than one axis are not implemented; {NUMPY}, which flattens them",
    ("np.cross", "autograd"): "operands that broadcast are not implemented",
    ("np.einsum", "autograd"): "a repeated index within one operand is not implemented",
}
if NUMPY_2:  # the case that shows it has another meaning in NumPy 1
    REASONS["np.linalg.solve", "autograd"] = "leading axes that broadcast are not implemented; rule 1 sums them"
