"""The state of every node and edge after each step of a hand-made pass."""

from __future__ import annotations

import numpy as np
import pytest

from tensorviz.views.state import check_step, state_at
from views import circuits
from views.golden import zeroed

# The steps of L = ((X + b) ** 2).sum(); ids X 0, b 1, X + b 2, **2 3, sum 4:
# 0 seed 4, 1 pull 4, 2 accumulate 3, 3 pull 3, 4 accumulate 2, 5 pull 2, 6 accumulate 0, 7 unbroadcast 1, 8 accumulate 1, 9 leaf 0, 10 leaf 1


def test_before_the_first_step_everything_is_idle() -> None:
    found = state_at(circuits.broadcast(), -1)
    assert found.nodes == ("idle",) * 5
    assert found.edges == {}
    assert found.active is None


def test_on_the_seed_the_root_is_active() -> None:
    found = state_at(circuits.broadcast(), 0)
    assert found.nodes == ("idle", "idle", "idle", "idle", "active")
    assert found.totals[4] == 1


def test_on_a_pull_the_op_whose_rule_runs_is_active() -> None:
    found = state_at(circuits.broadcast(), 3)
    assert found.nodes == ("idle", "idle", "idle", "active", "done")
    assert found.active == 3
    assert found.active_edge is None


def test_on_an_accumulate_the_receiver_and_its_edge_are_active() -> None:
    found = state_at(circuits.broadcast(), 6)
    assert found.nodes == ("active", "idle", "done", "done", "done")
    assert found.edges == {"4:0": "passed", "3:0": "passed", "2:0": "active"}


def test_on_an_unbroadcast_the_share_is_under_way_and_not_yet_added() -> None:
    found = state_at(circuits.broadcast(), 7)
    assert found.active == 1
    assert found.edges["2:1"] == "active"
    assert 1 not in found.totals
    assert state_at(circuits.broadcast(), 8).totals[1] == pytest.approx([10.4, 14.8, 19.2])


def test_a_node_that_has_a_share_but_has_not_run_is_reached() -> None:
    # x (id 0) has received the share of x + y (step 12) when sigmoid's rule runs at step 14
    found = state_at(circuits.staged(), 14)
    assert found.nodes[0] == "reached"
    assert found.arrived[0] == 1
    assert found.nodes[4] == "active"
    assert found.nodes[2] == "idle"


def test_a_leaf_is_done_when_all_its_shares_are_in() -> None:
    trace = circuits.squared()
    assert state_at(trace, 2).nodes[0] == "active"
    assert state_at(trace, 3).arrived[0] == 2
    assert state_at(trace, 4).nodes == ("active", "done")
    assert state_at(trace, None).nodes == ("done", "done")


def test_after_the_whole_pass_nothing_is_active() -> None:
    found = state_at(circuits.broadcast(), None)
    assert found.nodes == ("done",) * 5
    assert set(found.edges.values()) == {"passed"}
    assert found.active is None


def test_what_is_zero_everywhere_is_blocked_on_the_wire_and_zero_at_the_node() -> None:
    # x -> **2 -> times (0, 0) -> sum: the product sends zeros
    found = state_at(zeroed(), None)
    assert found.nodes == ("zero", "zero", "idle", "done", "done")
    assert found.edges == {"4:0": "passed", "3:0": "blocked", "1:0": "blocked"}


def test_the_last_state_holds_the_recorded_cotangents() -> None:
    trace = circuits.staged()
    found = state_at(trace, None)
    for node in trace.nodes:
        if node.cotangent is not None:
            assert np.array_equal(found.totals[node.id], node.cotangent)


def test_a_step_that_is_not_there_says_which_are() -> None:
    trace = circuits.broadcast()
    with pytest.raises(ValueError, match="0 to 10"):
        check_step(trace, 11)
    with pytest.raises(ValueError, match="0 to 10"):
        check_step(trace, -1)
    with pytest.raises(TypeError, match="int or None"):
        check_step(trace, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="backward has not been called"):
        check_step(circuits.broadcast(forward_only=True), 0)
