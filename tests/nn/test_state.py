"""States: named arrays out and in, npz files, and what does not fit."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn
from tensorviz.errors import StateError


def model(seed: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 3, rng=seed), nn.BatchNorm(3), nn.Linear(3, 1, bias=False, rng=seed))


def test_a_state_is_copies_of_parameters_and_buffers_by_name():
    net = model(0)
    state = net.state_dict()
    assert list(state) == [
        *("0.weight", "0.bias", "1.weight", "1.bias"),
        *("1.running_mean", "1.running_var", "1.num_batches_tracked", "2.weight"),
    ]
    assert all(type(a) is np.ndarray for a in state.values())
    state["0.weight"][...] = 0
    assert net[0].weight.numpy().any()


def test_loading_makes_the_model_compute_the_same():
    a, b, x = model(0), model(1), np.random.default_rng(0).normal(size=(4, 2))
    a(x)
    assert b.load_state_dict(a.state_dict()) == ((), ())
    assert b.eval()(x).tolist() == a.eval()(x).tolist()
    assert b[1].num_batches_tracked.item() == 1
    b[0].weight.data[...] = 0
    assert a[0].weight.numpy().any()


def test_tensors_are_taken_too_and_each_value_keeps_the_dtype_that_it_has_here():
    layer = nn.Linear(1, 1, bias=False, dtype=np.float32)
    layer.load_state_dict({"weight": tv.tensor([[2.0]])})
    assert (layer.weight.dtype, layer.weight.tolist()) == (np.float32, [[2]])
    layer.load_state_dict({"weight": np.array([[3]])})
    assert layer.weight.tolist() == [[3]]


def test_a_file_gives_back_every_bit(tmp_path):
    a, b, path = model(0), model(1), tmp_path / "model.weights"
    a.save(path)
    assert path.exists()
    b.load(path)
    for name, array in a.state_dict().items():
        assert b.state_dict()[name].tobytes() == array.tobytes()
    with np.load(path) as archive:
        assert archive["2.weight"].tolist() == a[2].weight.tolist()


def test_the_same_state_gives_the_same_bytes(tmp_path):
    model(0).save(tmp_path / "a.npz")
    model(0).save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_names_that_np_savez_takes_for_itself_can_be_saved(tmp_path):
    net, other = nn.Module(), nn.Module()
    net.file, other.file = nn.Parameter([1.0]), nn.Parameter([0.0])
    net.save(tmp_path / "m.npz")
    other.load(tmp_path / "m.npz")
    assert other.file.tolist() == [1]


def test_a_file_of_np_savez_can_be_loaded(tmp_path):
    net = model(0)
    np.savez(tmp_path / "m.npz", **net.state_dict())
    twin = model(1)
    twin.load(tmp_path / "m.npz")
    assert twin[0].weight.tolist() == net[0].weight.tolist()


def test_everything_that_does_not_fit_is_listed_at_once_and_nothing_is_loaded():
    net, state = model(0), model(1).state_dict()
    before = net.state_dict()
    del state["0.bias"], state["1.running_var"]
    state["3.weight"] = np.ones(1)
    state["0.weight"] = np.ones((2, 3))
    state["1.num_batches_tracked"] = np.array(1.5)
    with pytest.raises(StateError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        "the state does not fit this Sequential: missing: 0.bias, 1.running_var; unexpected: 3.weight; "
        "0.weight has shape (2, 3), expected (3, 2); 1.num_batches_tracked has dtype float64, expected int64. "
        "Nothing was loaded; strict=False ignores names that only one side has"
    )
    assert isinstance(caught.value, ValueError)
    assert all(np.array_equal(before[k], v) for k, v in net.state_dict().items())


def test_without_strict_only_names_are_forgiven():
    net = model(0)
    found = net.load_state_dict({"0.bias": np.ones(3), "old": np.ones(1)}, strict=False)
    assert found.unexpected == ("old",)
    assert "0.weight" in found.missing
    assert "0.bias" not in found.missing
    assert net[0].bias.tolist() == [1, 1, 1]
    with pytest.raises(StateError, match=r"Sequential: 0.bias has shape \(2,\), expected \(3,\). Nothing was loaded$"):
        net.load_state_dict({"0.bias": np.ones(2)}, strict=False)


def test_buffers_that_are_not_persistent_stay_out():
    net = nn.Module()
    net.register_buffer("cache", [1.0], persistent=False)
    net.register_buffer("mean", [1.0])
    assert list(net.state_dict()) == ["mean"]
    assert [name for name, _ in net.named_buffers()] == ["cache", "mean"]


def test_a_shared_parameter_has_an_entry_under_each_name():
    net = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Linear(2, 2, rng=1))
    net[1].weight = net[0].weight
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    net.load_state_dict(net.state_dict())
    assert net[1].weight is net[0].weight


def test_records_keep_the_values_from_before_a_load():
    layer = nn.Linear(1, 1, bias=False, rng=0)
    before = layer.weight.tolist()
    y = layer([1.0]).sum()
    layer.load_state_dict({"weight": [[9.0]]})
    assert y.backward().node("weight").value.tolist() == before


def test_what_is_no_state_is_refused(tmp_path):
    net = nn.Linear(1, 1)
    with pytest.raises(StateError, match=r"load_state_dict of Linear takes a dict of arrays by name, got list; for a file use load\(path\)"):
        net.load_state_dict([1.0])
    (tmp_path / "text").write_text("hello")
    with pytest.raises(StateError, match="text is no npz file of arrays, or it is damaged"):
        net.load(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(StateError, match="is no npz file of arrays"):
        net.load(tmp_path / "empty")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(StateError, match="holds a single array, not the named arrays of a state"):
        net.load(tmp_path / "one.npy")
    with pytest.raises(FileNotFoundError):
        net.load(tmp_path / "nothing.npz")


def test_a_damaged_file_and_one_with_objects_are_refused(tmp_path):
    net = nn.Linear(1, 1)
    net.save(tmp_path / "m.npz")
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateError, match="it is damaged"):
        net.load(tmp_path / "cut.npz")
    np.savez(tmp_path / "objects.npz", weight=np.array([{}], dtype=object))
    with pytest.raises(StateError, match="it is damaged"):
        net.load(tmp_path / "objects.npz")
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("weight", "text")
    with pytest.raises(StateError):
        net.load(tmp_path / "zip.npz")
