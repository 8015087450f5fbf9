"""What a call of a module leaves in the record: scopes, names of parameters, places in the source."""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn


def scopes(trace: tv.Trace) -> dict[str, str]:
    """Scope by title, of everything that is not a constant."""
    return {n.title: n.scope for n in trace.nodes if n.kind != "constant"}


def test_a_sequential_groups_by_number_and_class():
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Tanh(), nn.Linear(3, 1, rng=1))
    trace = model(np.ones(2)).sum().backward()
    assert scopes(trace) == {
        "0.weight": "Sequential/0.Linear",
        "0.bias": "Sequential/0.Linear",
        "2.weight": "Sequential/2.Linear",
        "2.bias": "Sequential/2.Linear",
        "linear": "Sequential/2.Linear",
        "tanh": "Sequential/1.Tanh",
        "sum": "",
    }
    assert [n.scope for n in trace.nodes if n.op == "linear"] == ["Sequential/0.Linear", "Sequential/2.Linear"]


class Block(nn.Module):
    def __init__(self, rng) -> None:
        self.inner = nn.Linear(2, 2, rng=rng)

    def forward(self, x):
        return self.inner(x) + x


class Net(nn.Module):
    def __init__(self) -> None:
        self.blocks = [Block(0), Block(1)]
        self.head = nn.Sequential(nn.Linear(2, 1, rng=2))
        self.bias = nn.Parameter(0.5)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x) + self.bias


def test_scopes_nest_and_attributes_give_their_names():
    trace = Net()(np.ones(2)).sum().backward()
    assert [(n.op, n.scope) for n in trace.nodes if n.kind == "op"] == [
        ("linear", "Net/blocks.0.Block/inner"),
        ("add", "Net/blocks.0.Block"),
        ("linear", "Net/blocks.1.Block/inner"),
        ("add", "Net/blocks.1.Block"),
        ("linear", "Net/head/0.Linear"),
        ("add", "Net"),
        ("sum", ""),
    ]
    assert [(n.name, n.scope) for n in trace.nodes if n.kind == "parameter"] == [
        ("blocks.0.inner.weight", "Net/blocks.0.Block/inner"),
        ("blocks.0.inner.bias", "Net/blocks.0.Block/inner"),
        ("blocks.1.inner.weight", "Net/blocks.1.Block/inner"),
        ("blocks.1.inner.bias", "Net/blocks.1.Block/inner"),
        ("head.0.weight", "Net/head/0.Linear"),
        ("head.0.bias", "Net/head/0.Linear"),
        ("bias", "Net"),
    ]


def test_a_part_called_on_its_own_is_named_from_itself():
    net = Net()
    net(np.ones(2)).sum().backward()
    trace = net.blocks[1](np.ones(2)).sum().backward()
    assert {n.name: n.scope for n in trace.nodes if n.kind == "parameter"} == {"inner.weight": "Block/inner", "inner.bias": "Block/inner"}
    trace = net(np.ones(2)).sum().backward()
    assert trace.node("blocks.1.inner.weight").scope == "Net/blocks.1.Block/inner"


def test_a_call_inside_a_scope_of_the_user_is_inside_it_in_the_record_too():
    layer = nn.Linear(2, 1, rng=0)
    with tv.scope("teacher"):
        trace = layer(np.ones(2)).sum().backward()
    assert trace.node("weight").scope == "teacher/Linear"
    assert trace.nodes[-1].scope == "teacher"


def test_a_loss_has_a_scope_beside_the_model():
    model, criterion = nn.Linear(2, 3, rng=0), nn.CrossEntropyLoss()
    loss = criterion(model(np.ones((4, 2))), np.array([0, 1, 2, 0]))
    trace = loss.backward()
    assert trace.node("loss").scope == "CrossEntropyLoss"


def test_a_grandchild_called_directly_has_the_whole_way_in_its_scope():
    class Skips(nn.Module):
        def __init__(self):
            self.body = Block(0)

        def forward(self, x):
            return self.body.inner(x)

    trace = Skips()(np.ones(2)).sum().backward()
    assert trace.node("body.inner.weight").scope == "Skips/body.inner"


def test_a_parameter_that_the_parent_uses_without_a_call_has_its_full_name():
    class Tied(nn.Module):
        def __init__(self):
            self.table = nn.Embedding(3, 2, rng=0)

        def forward(self, ids):
            return self.table(ids) @ self.table.weight.T

    trace = Tied()([0, 2]).sum().backward()
    node = trace.node("table.weight")
    assert node.scope == "Tied/table"
    assert [trace.nodes[s.consumer].op for s in node.shares] == ["transpose", "embedding"]


def test_a_module_used_twice_keeps_its_first_name_and_adds_both_shares():
    class Twice(nn.Module):
        def __init__(self):
            self.a = nn.Linear(1, 1, bias=False, rng=0)
            self.b = self.a

        def forward(self, x):
            return self.b(self.a(x))

    trace = Twice()([1.0]).sum().backward()
    assert [n.name for n in trace.nodes if n.kind == "parameter"] == ["a.weight"]
    assert len(trace.node("a.weight").shares) == 2


def test_a_module_made_inside_forward_gets_its_class_as_scope():
    class Fresh(nn.Module):
        def forward(self, x):
            return nn.LeakyReLU(0.5)(x)

    x = tv.tensor([-1.0], requires_grad=True)
    y = Fresh()(x)
    assert y.backward().node(y).scope == "Fresh/LeakyReLU"


def test_a_list_that_grows_after_the_first_call_is_noticed():
    class Grows(nn.Module):
        def __init__(self):
            self.layers = [nn.Linear(1, 1, rng=0)]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    model = Grows()
    model([1.0])
    model.layers.append(nn.Linear(1, 1, rng=1))
    trace = model([1.0]).sum().backward()
    assert trace.node("layers.1.weight").scope == "Grows/layers.1.Linear"
    model.layers[0] = nn.Linear(1, 1, rng=2)
    trace = model([1.0]).sum().backward()
    assert trace.node("layers.0.weight").value.tolist() == model.layers[0].weight.tolist()


def test_a_module_that_calls_itself_nests_its_class():
    class Halves(nn.Module):
        def forward(self, x, depth):
            return self(x * 0.5, depth - 1) if depth else x

    x = tv.tensor(8.0, requires_grad=True)
    y = Halves()(x, 2)
    assert [n.scope for n in y.backward().nodes if n.op == "mul"] == ["Halves", "Halves/Halves"]


def test_nodes_point_at_the_users_lines_not_at_ours():
    model = nn.Sequential(nn.Linear(2, 1, rng=0))
    y = model(np.ones(2))
    line = inspect.currentframe().f_lineno - 1
    trace = y.sum().backward()
    assert trace.node("y").source.line == line
    assert trace.node("y").source.file == __file__
    inside = next(n for n in Net()(np.ones(2)).sum().backward().nodes if n.op == "add")
    assert inside.source.code.strip() == "return self.inner(x) + x"


def test_buffers_are_constants_with_a_name():
    model = nn.Sequential(nn.BatchNorm(2)).eval()
    trace = model(np.ones((3, 2))).sum().backward()
    assert (trace.node("0.running_var").kind, trace.node("0.running_var").scope) == ("constant", "Sequential/0.BatchNorm")


def test_an_error_says_in_which_module_it_was_raised():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1))
    with pytest.raises(ValueError, match="linear") as caught:
        model(np.ones(2))
    assert caught.value.__notes__ == ["raised in Sequential/1.Linear"]
    # and the scope is closed again
    trace = nn.Linear(2, 1, rng=0)(np.ones(2)).sum().backward()
    assert trace.node("weight").scope == "Linear"


def test_nothing_is_recorded_under_no_grad_and_names_are_there_afterwards():
    layer = nn.Linear(2, 1, rng=0)
    with tv.no_grad():
        assert not layer(np.ones(2)).requires_grad
    assert layer(np.ones(2)).sum().backward().node("weight").kind == "parameter"


def test_two_threads_call_one_model_without_mixing_their_scopes():
    net, ready, found = Net(), threading.Barrier(2), {}

    def work(key: str) -> None:
        ready.wait()
        with tv.scope(key):
            for _ in range(50):
                y = net(np.ones(2))
        found[key] = {n.scope.split("/")[0] for n in y.backward(np.ones(1)).nodes if n.kind == "op"}

    threads = [threading.Thread(target=work, args=(key,)) for key in ("one", "two")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {"one": {"one"}, "two": {"two"}}


def test_a_recorded_model_can_be_drawn_checked_saved_and_replayed(tmp_path):
    net = Net()
    trace = net(np.array([[0.3, -0.2]])).sum().backward()
    assert trace.check().ok
    assert "blocks.0.inner.weight" in trace.to_svg()
    trace.save(tmp_path / "t.tvz")
    again = tv.load(tmp_path / "t.tvz")
    assert again.node("head.0.bias").kind == "parameter"
    assert again.replay({"bias": 1.5}) == pytest.approx(trace.nodes[-1].value + 1)


def test_many_modules_collapse_into_their_scopes_in_the_picture():
    class Deep(nn.Module):
        def __init__(self):
            self.blocks = [nn.Sequential(nn.Linear(2, 2, rng=i), nn.Tanh(), nn.Linear(2, 2, rng=i)) for i in range(30)]

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    svg = Deep()(np.ones((1, 2))).sum().backward().to_svg()
    assert "blocks.29.Sequential" in svg


def test_a_cell_used_at_every_time_step_can_be_drawn_collapsed():
    class Recurrent(nn.Module):
        def __init__(self):
            self.cell = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Tanh())

        def forward(self, xs):
            h = np.zeros(2)
            for x in xs:
                h = self.cell(h + x) * 0.9
            return h

    trace = Recurrent()(np.ones((40, 2))).sum().backward()
    assert len(trace.node("cell.0.weight").shares) == 40
    assert trace.to_svg().startswith("<svg")
