"""What people do to a tool: the result is right, or the error says what is wrong and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import traitlets

import tensorviz as tv
from tensorviz.errors import DTypeError, GraphError, RuleError


def leaf(values: object) -> tv.Tensor:
    return tv.tensor(values, requires_grad=True)


def test_a_loss_formats_and_rounds_as_a_number() -> None:
    loss = leaf(2.34567) * 1.0
    assert f"{loss:.2f}" == "2.35"
    assert round(loss, 1) == 2.3
    assert f"{leaf([1.0])}" == "tensor([1.], requires_grad=True)"
    with pytest.raises(DTypeError, match=r"needs one number.*\(2,\)"):
        f"{leaf([1.0, 2.0]):.2f}"


def test_backward_takes_one_tensor_without_a_list_and_refuses_what_is_none() -> None:
    x = leaf([1.0, 2.0])
    tv.backward((x * x).sum())
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(GraphError, match="list of Tensors, got NoneType"):
        tv.backward(None)  # type: ignore[arg-type]


def test_a_rule_that_writes_into_the_gradient_is_stopped_before_it_harms_others() -> None:
    def greedy(g: np.ndarray, a: np.ndarray) -> tuple[np.ndarray]:
        g[:] = 7.0
        return (g * 2.0,)

    z = leaf([1.0, 2.0])
    out = (tv.custom_op("greedy", lambda a: a * 2.0, greedy)(z) + z).sum()
    with pytest.raises(ValueError, match="read-only"):
        out.backward()
    assert z.grad is None


def test_a_gradient_is_not_lost_through_a_parameter_or_a_closure_of_a_custom_op() -> None:
    k = leaf(2.0)
    scaled = tv.custom_op("scaled_by", lambda a, *, k: a * k, lambda g, a, *, k: (g * k,))
    with pytest.raises(RuleError, match="parameter k is a Tensor that requires a gradient"):
        scaled(leaf([1.0]), k=k)
    closed = tv.custom_op("closed_over", lambda a: a * k, lambda g, a: (g * 2.0,))
    with pytest.raises(RuleError, match="forward returned a Tensor"):
        closed(leaf([1.0]))


def test_saving_follows_a_link_and_leaves_the_neighbours_alone(tmp_path: Path) -> None:
    trace = (leaf(2.0) * 3.0).backward()
    kept = tmp_path / "kept.tensorviz"
    kept.touch()
    link = tmp_path / "link"
    link.symlink_to(kept)
    neighbour = tmp_path / "link.part"
    neighbour.write_text("precious")
    trace.save(link)
    assert link.is_symlink()
    assert len(tv.load(kept)) == len(trace)
    assert neighbour.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.tensorviz", "link", "link.part"]


def test_a_missing_folder_is_named_as_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/a\.tensorviz"):
        (leaf(2.0) * 3.0).backward().save(tmp_path / "nowhere" / "a.tensorviz")


@pytest.mark.parametrize("trait", ["step", "playing", "speed", "granularity", "breakpoints", "theme"])
def test_a_trait_of_the_stepper_refuses_none(trait: str) -> None:
    stepper = (leaf(2.0) * 3.0).backward().show()
    with pytest.raises(traitlets.TraitError):
        setattr(stepper, trait, None)
    stepper.close()


def test_the_smallest_numbers_are_checked_without_an_error() -> None:
    report = np.sum(np.sqrt(leaf([5e-324, 1.0]))).backward().check()
    assert report.rows


def test_a_wide_fan_is_told_in_time_that_grows_with_its_width() -> None:
    x = leaf(1.0)
    trace = sum(x * float(k) for k in range(4000)).backward()
    assert trace.steps[-1].caption.startswith("x.grad was None")
    assert len(trace.node(x).shares) == 4000
