"""Conformance: every op and every function that users of HIPS autograd expect, beside NumPy, differences, PyTorch and autograd."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import tensorviz as tv
from quality.conformance import conventions, offered, peers
from quality.conformance.case import of, positive
from quality.conformance.judge import ABSENT, AGREES, JUDGES, judged
from quality.conformance.page import page
from quality.conformance.reasons import REASONS
from quality.conformance.table import CASES, INTERNAL, verdicts
from tensorviz.engine.op import REGISTRY
from tensorviz.errors import NoRuleError
from tensorviz.ops.custom import CustomOp

PAGE = Path(__file__).parents[2] / "benchmarks" / "CONFORMANCE.md"
MAKE = "python -m tests.quality.conformance > benchmarks/CONFORMANCE.md"


@pytest.fixture(scope="module", autouse=True)
def _judges_are_here():
    missing = [name for name in ("torch", "autograd") if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"{' and '.join(missing)} missing, and CI is set: a green run must mean that they judged")
    if missing:
        pytest.skip(f"NOTHING WAS COMPARED: {' and '.join(missing)} missing; pip install -e '.[test]' brings them")


def told(found: dict[str, str]) -> str:
    return "\n".join(f"{text}: {what}" for text, what in found.items())


@pytest.mark.parametrize("who", ["NumPy", "differences", "float32"])
def test_numpy_and_differences_agree_with_every_case(who):
    wrong = {v.case.ours: v.by[who] for v in verdicts() if v.by[who] not in (AGREES, ABSENT)}
    assert not wrong, told(wrong)


def test_pytorch_agrees_with_every_case_that_it_has_a_word_for():
    wrong = {v.case.ours: v.by["PyTorch"] for v in verdicts() if v.by["PyTorch"] not in (AGREES, ABSENT)}
    assert not wrong, told(wrong)
    assert sum(v.by["PyTorch"] == AGREES for v in verdicts()) > 600


def test_every_disagreement_with_autograd_is_explained_and_every_explanation_is_needed():
    found = {(v.case.function, who) for v in verdicts() for who in v.disagreements}
    assert found == set(REASONS)
    assert sum(v.by["autograd"] == AGREES for v in verdicts()) > 500


def test_every_differentiable_op_is_in_the_record_of_some_case():
    seen = {op for v in verdicts() for op in v.ops}
    ours = (op for op in REGISTRY.values() if type(op).__module__.startswith("tensorviz.ops.") and not isinstance(op, CustomOp))
    built_in = {op.name for op in ours if op.differentiable}
    assert built_in - seen - {"argument"} == INTERNAL


def test_every_function_that_autograd_differentiates_has_cases_or_a_reason():
    tried = {case.function for case in CASES}
    functions = offered.differentiated()
    assert {name for name, f in functions.items() if not offered.is_offered(f)} == set(offered.NOT_OFFERED) & set(functions)
    known = {name.replace("np.amax", "np.max").replace("np.amin", "np.min").replace("np.absolute", "np.abs") for name in functions}
    assert known - tried - set(offered.NOT_OFFERED) == set()


@pytest.mark.parametrize("name", offered.NOT_OFFERED)
def test_what_is_not_offered_says_so_by_name(name):
    function = np
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    with pytest.raises(NoRuleError, match=rf"{name} has no differentiation rule"):
        function(tv.tensor(np.eye(2), requires_grad=True))


def test_every_function_that_autograd_takes_to_be_constant_works_too():
    missing = [name for name, f in offered.constant().items() if not offered.is_offered(f)]
    assert missing == ["np.isscalar"]  # which NumPy does not hand to anyone
    assert not np.isscalar(tv.tensor([1.0]))


# Eigenvectors of equal eigenvalues are not finite either way, and the Tensors' path divides by zero with other signs.
FINITE_OR_ALIKE = [point for point in conventions.POINTS if "eigenvectors" not in point.where]


@pytest.mark.parametrize("point", FINITE_OR_ALIKE, ids=lambda p: p.where)
def test_a_convention_is_the_same_in_higher_order_code(point):
    # the rules run on Tensors there, and must choose as they do on arrays
    operands = {name: np.asarray(x, float) for name, x in point.operands.items()}

    def total(*moved):
        results = peers.evaluated(point.ours, dict(zip(operands, moved, strict=True)), np=np, tv=tv)
        return sum(r.sum() for r in results)

    with np.errstate(all="ignore"):
        leaves = [tv.tensor(x, requires_grad=True) for x in operands.values()]
        found = tv.grad(total, argnums=tuple(range(len(leaves))))(*leaves)
        assert "; ".join(conventions.shown(g.numpy() if isinstance(g, tv.Tensor) else g) for g in found) == point.gradients("tensorviz")


def test_the_committed_page_is_what_the_judges_say():
    if not hasattr(np, "astype"):
        pytest.skip("the page is made with NumPy 2.1 or newer, which has more names")
    assert PAGE.read_text(encoding="utf-8") == page(), f"the page is not current; make it anew: {MAKE}"
    assert "NOT EXPLAINED" not in page()


def test_a_wrong_gradient_would_be_seen_by_every_judge(monkeypatch):
    case = of("np.square", ("np.square(a)", "torch.square(a)"), a=positive(3))[0]
    assert set(judged(case).by.values()) == {AGREES}
    op = REGISTRY["square"]
    rule = op.pull
    monkeypatch.setattr(op, "pull", lambda node, g: tuple(1.001 * s for s in rule(node, g)))
    seen = judged(case).by
    assert [who for who in JUDGES if seen[who] != AGREES] == ["differences", "PyTorch", "autograd"]


# ---- found on the way -------------------------------------------------------------------------------------------


BROADCAST = [name for name, op in REGISTRY.items() if op.ufuncs and op.differentiable and op.broadcasts and len(op.slots) == 2 and name != "matmul"]


@pytest.mark.parametrize("scalar", [0, 1, 2, -1, 0.0, 0.5, True])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_python_scalar_beside_float32_widens_neither_result_nor_gradient(scalar, shape):
    # x ** 0 did: np.where made an int64 of the exponent
    for name in BROADCAST:
        op = REGISTRY[name]
        for slot in (0, 1):
            x = tv.tensor(np.full(shape, 1.5, np.float32), requires_grad=True)
            with np.errstate(all="ignore"):
                y = op(x, scalar) if slot == 0 else op(scalar, x)
                trace = y.backward(np.ones(y.shape))
            assert y.dtype == x.grad.dtype == np.float32, name
            assert all(share.value.dtype == np.float32 for node in trace.nodes for share in node.shares), name
