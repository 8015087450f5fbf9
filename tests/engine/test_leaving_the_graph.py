"""What would take a Tensor out of its graph without a word is refused; what is meant (no_grad, detach, numpy, item) is not."""

from __future__ import annotations

import math
import weakref
from math import sqrt

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, InPlaceError, NoRuleError


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: np.sum([x[0], x[1]]), r"NumPy's sum makes plain arrays.*tv\.stack"),
        (lambda x: np.median([x, x], axis=0), r"NumPy's median"),
        (lambda x: np.linalg.norm([x[0], 1.0]), r"NumPy's norm"),
        (lambda x: np.vstack([[x[0]], [x[1]]]), r"NumPy's vstack"),
        (lambda x: np.r_[x, 1.0], r"np\.concatenate for np\.r_"),
        (lambda x: np.c_[x, x], r"np\.column_stack for np\.c_"),
        (lambda x: np.vectorize(lambda v: v * 2)(x), r"NumPy calls.*in place of np\.vectorize"),
        (lambda x: list(np.ndenumerate(x)), r"np\.ndindex"),
        (lambda x: np.full((2,), x[0]), r"NumPy's full"),
        (lambda x: np.polynomial.Polynomial(x), r"ABCPolyBase"),
        (lambda x: np.array(x, dtype=object), r"an array of objects"),
        (lambda x: np.ma.array(x), r"numpy\.ma would take"),
    ],
)
def test_what_numpy_would_take_out_of_the_graph_without_asking_is_refused(f, says):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(NoRuleError, match=says):
        f(x)
    f(x.detach())
    with tv.no_grad():
        f(x)


ARRAY, SCRATCH, RNG = np.array([3.0, 4.0]), np.zeros(2), np.random.default_rng(0)
exp = np.exp


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: np.exp([x, x]), r"np\.exp of a list makes plain arrays.*tv\.stack or tv\.concatenate"),
        (lambda x: exp([[x[0]], [2.0]]), r"np\.exp of a list"),
        (lambda x: np.add(ARRAY, [x[0], 2.0]), r"np\.add of a list"),
        (lambda x: np.maximum.reduce([x, x]), r"np\.maximum\.reduce of a list"),
        (lambda x: np.concatenate([[x[0]], ARRAY]), r"np\.concatenate of a list"),
        (lambda x: np.where(ARRAY > 3, [x[0], x[1]], 0.0), r"np\.where of a list"),
        (lambda x: np.bincount([0, 1], [x[0], 2.0]), r"np\.bincount of a list"),
        (lambda x: ARRAY * [x[0], 2.0], r"an operator on an array and a list"),
        (lambda x: [x[0], 2.0] < ARRAY, r"an operator on an array and a list"),
        (lambda x: ARRAY.dot(x), r"the method dot of an array.*np\.dot\(array, x\) or array @ x"),
        (lambda x: ARRAY[::-1].dot(x), r"the method dot of an array"),
        (lambda x: SCRATCH.put([0], x[:1]), r"the method put of an array"),
        (lambda x: RNG.normal(x), r"normal of NumPy's random numbers.*mean \+ deviation"),
        (lambda x: np.random.uniform(0.0, x), r"uniform of NumPy's random numbers"),  # noqa: NPY002
        (lambda x: np.arange(x[0], 3.0), r"np\.arange makes plain arrays.*start \+ step \* np\.arange\(n\)"),
        (
            lambda x: np.exp(
                # a comment (with a parenthesis)
                [x, x]
            ),
            r"np\.exp of a list",
        ),
    ],
)
def test_what_is_written_in_c_and_asks_no_tensor_is_refused_by_what_the_user_calls(f, says):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(NoRuleError, match=says):
        f(x)
    f(x.detach())
    with tv.no_grad():
        f(x)


@pytest.mark.parametrize("f", [lambda x: ARRAY.dot(x), lambda x: np.arange(x)], ids=["dot", "arange"])
def test_a_call_that_ran_many_times_on_numbers_is_refused_like_the_first(f):
    for _ in range(100):  # Python puts quicker instructions in the place of those of code that runs often
        f(2.0)
    x = tv.tensor(2.0, requires_grad=True)
    with pytest.raises(NoRuleError, match="makes plain arrays"):
        f(x)


def test_what_is_drawn_with_given_probabilities_has_no_gradient_and_is_drawn():
    p = tv.softmax(tv.tensor([0.5, 1.5, -1.0], requires_grad=True))
    rng = np.random.default_rng(3)
    assert np.random.default_rng(3).choice(3, p=p) == np.random.default_rng(3).choice(3, p=p.numpy())
    assert np.random.choice(range(3), p=np.ravel(p)) in (0, 1, 2)  # noqa: NPY002
    assert rng.multinomial(4, p).sum() == 4
    assert rng.binomial(3, p[0]) <= 3
    assert rng.poisson(p).dtype.kind == "i"
    for call in (lambda: RNG.choice(p * 2), lambda: RNG.permutation(p), lambda: rng.choice(p * 2)):
        with pytest.raises(NoRuleError, match=r"x\[rng\.permutation\(len\(x\)\)\]"):
            call()


def test_variables_of_a_function_are_known_by_their_methods_and_not_kept():
    class Held:
        pass

    def f(x):
        array, rng, held = np.zeros(2), np.random.default_rng(0), Held()
        for take, says in (lambda: array.dot(x), "the method dot"), (lambda: rng.normal(x), "normal of NumPy's random"):
            with pytest.raises(NoRuleError, match=says):
                take()
        with pytest.raises(NoRuleError, match="the method dot"):
            array.dot(x)
        there = weakref.ref(held)
        del held
        assert there() is None

    f(tv.tensor([1.0, 2.0], requires_grad=True))


def test_a_number_that_numpy_takes_by_itself_is_refused_and_one_that_the_user_asks_for_is_not():
    x = tv.tensor(1.5, requires_grad=True)
    with pytest.raises(ValueError, match="array element") as caught:  # NumPy's own words on what no float can be made of
        np.sum(ARRAY, initial=x)
    assert isinstance(caught.value.__cause__, NoRuleError)
    with pytest.raises(ValueError, match="array element") as caught:
        SCRATCH.fill(x)
    assert "the method fill of an array" in str(caught.value.__cause__)
    assert "np.broadcast_to(x, shape)" in str(caught.value.__cause__)
    assert (float(x), np.float64(x), f"{x:.1f}", "%.1f" % x, complex(x)) == (1.5, 1.5, "1.5", "1.5", 1.5)  # noqa: UP031


def test_arrays_that_are_asked_for_are_given():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    for ask in (np.asarray, np.array, np.asanyarray, np.ascontiguousarray, np.float32):
        assert ask(x).tolist() == [1, 2]
    held = [x, x]
    assert np.array(held).tolist() == [[1, 2], [1, 2]]
    assert ARRAY.searchsorted(x).tolist() == [0, 0]


def test_an_array_of_a_list_that_stands_there_is_given_with_a_warning():
    t = tv.tensor(0.5, requires_grad=True, name="angle")
    with pytest.warns(
        UserWarning, match=r"np\.array of a list makes a plain array of numbers, so that tensor 'angle'.*tv\.stack takes such a list"
    ) as told:
        turn = np.array([[1.0, t], [t, 0.0]])
    assert told[0].filename == __file__
    assert turn.shape == (2, 2)
    for ask in (lambda: np.asarray((t, 1.0)), lambda: np.array([v * 2 for v in [t]])):
        with pytest.warns(UserWarning, match="of a list"):
            assert type(ask()) is np.ndarray
    with tv.no_grad():
        np.array([t, t])
    np.array([t.detach(), t.numpy()])


def test_a_leaf_of_a_list_of_tensors_is_made_with_a_warning():
    t = tv.tensor(0.5, requires_grad=True, name="angle")
    held = [[1.0, t], [t, 0.0]]
    with pytest.warns(
        UserWarning, match=r"tensor\(\) of a list makes a leaf of numbers, so that tensor 'angle'.*tv\.stack takes such a list"
    ) as told:
        turn = tv.tensor(held)
    assert told[0].filename == __file__
    assert turn.is_leaf
    assert turn.tolist() == [[1, 0.5], [0.5, 0]]
    with tv.no_grad():
        tv.tensor(held)
    tv.tensor([t.detach(), t.item()])
    assert tv.tensor(t * 2).is_leaf


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: math.exp(x[0]), r"math\.exp takes plain numbers, so that this tensor.*np\.exp keeps the gradient.*x\.item\(\)"),
        (lambda x: math.atan2(1.0, x[0]), r"math\.atan2.*np\.arctan2"),
        (lambda x: math.fsum(x), r"math\.fsum.*np\.sum"),
        (lambda x: math.erf(x[0]), r"math\.erf.*tv\.erf"),
        (lambda x: sqrt(x[0]), r"math\.sqrt.*np\.sqrt"),
        (lambda x: list(np.nditer(x)), r"np\.nditer.*x\.flat"),
        (lambda x: np.fromiter((v for v in x), float), r"np\.fromiter.*tv\.stack of the Tensors"),
    ],
)
def test_a_function_of_plain_numbers_is_given_them_with_a_warning(f, says):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match=says) as told:
        f(x)
    assert told[0].filename == __file__
    f(x.detach())
    with tv.no_grad():
        f(x)


def test_a_function_of_numbers_without_a_slope_needs_no_word():
    x = tv.tensor(1.5, requires_grad=True)
    assert (math.floor(x), math.ceil(x), math.isnan(x), math.isfinite(x), math.isclose(x, 1.5)) == (1, 2, False, True, True)
    assert math.exp(x.item()) == math.exp(1.5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("np.exp([x, x])", r"np\.exp of a list"),
        ("np.maximum.reduce([x, 2 * x])", r"np\.maximum\.reduce of a list"),
        ("a[\n::-1].dot(\nx)", "the method dot of an array"),
        ("(a + 1).dot(x)", "the method dot of an array"),
        ("rng.normal(loc=x)", "normal of NumPy's random numbers"),
    ],
)
def test_code_whose_text_is_nowhere_is_looked_at_like_any_other(call, says):
    names = {"np": np, "x": tv.tensor([1.0, 2.0], requires_grad=True), "a": ARRAY, "rng": RNG}
    with pytest.raises(NoRuleError, match=says):
        exec(f"y = {call}", names)
    with pytest.raises(NoRuleError, match=says):
        eval(f"(lambda x: {call})(x)", names)


def test_a_list_is_known_as_the_first_argument_also_without_text():
    names = {"np": np, "x": tv.tensor(1.0, requires_grad=True)}
    for call in ("np.array([x, 2.0])", "np.array((\n2.0, x), dtype=float)", "np.array([v for v in [x]])", "np.asarray([[1.0, x], [x, 1.0]])"):
        with pytest.warns(UserWarning, match=r"of a list makes a plain array"):
            exec(f"y = {call}", names)
    for call in ("np.array(x)", "np.array(list([x]))", "np.array(held := [x])", "np.array([x] + [x])", "(lambda: np.array)()([x, x])"):
        exec(f"y = {call}", names)


def test_what_only_looks_is_free_to_do_so():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    assert (np.shape([x, x]), np.ndim([x, x]), np.size([x, x])) == ((2, 2), 2, 4)
    np.testing.assert_array_equal(x, [1.0, 2.0])
    assert np.asarray(x).tolist() == [1, 2]


def test_another_library_may_read_what_it_draws(tmp_path, monkeypatch):
    library = tmp_path / "drawing.py"
    library.write_text("import numpy as np\ndef points(x):\n    return np.atleast_1d([x, x])\n")
    monkeypatch.syspath_prepend(tmp_path)
    import drawing

    x = tv.tensor(1.0, requires_grad=True)
    with pytest.raises(NoRuleError):
        drawing.points(x)
    monkeypatch.setattr("tensorviz.engine.exits._LIBRARIES", str(tmp_path))
    assert drawing.points(x).tolist() == [1, 1]


# ---- assigned to elements of an array ----------------------------------------------------------------------------


PANDAS = """
import numpy as np

class Series:
    __pandas_priority__ = 3000

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __mul__(self, other):
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Series(self.values * np.asarray(other))

    def dot(self, other):
        return np.dot(self.values, np.asarray(other))

    def __matmul__(self, other):
        return self.dot(other)
"""
"""As pandas does it, which asks an operand in the way that it documents whether that knows better."""


def test_a_column_of_pandas_leaves_its_operator_to_a_tensor_and_its_product_is_refused():
    space = {"__name__": "pandas.core.series"}
    exec(PANDAS, space)
    column = space["Series"]([3.0, 4.0])
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    (column * x).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    with pytest.raises(NoRuleError, match=r"data\.to_numpy\(\) @ x"):
        column @ x
    assert column @ x.numpy() == 11.0
    assert column @ x.detach() == 11.0


def test_a_tensor_cannot_be_assigned_to_elements_of_an_array_which_would_lose_its_gradient():
    x, array = tv.tensor([1.0, 2.0], requires_grad=True), np.zeros(2)
    with pytest.raises(InPlaceError, match=r"cannot be assigned to elements of an array.*np\.zeros_like\(x\)"):
        array[:] = x
    with pytest.raises(InPlaceError, match="cannot be assigned"):
        array[[1, 0]] = [x[0], x[1]]
    with pytest.raises(ValueError, match="array element") as caught:  # NumPy's own words on what no float can be made of
        array[0] = x[0]
    assert isinstance(caught.value.__cause__, InPlaceError)
    with pytest.raises(ValueError, match="array element"):
        array[0] += x[0]
    assert array.tolist() == [0, 0]


def test_numbers_that_are_meant_as_such_can_be_assigned():
    x, array = tv.tensor([1.0, 2.0], requires_grad=True), np.zeros(2)
    array[0], array[1] = x[0].item(), float(x[1])
    assert array.tolist() == [1, 2]
    array[:] = x.numpy() + 1
    array[1:] = x.detach()[1:] * 2
    assert array.tolist() == [2, 4]
    with tv.no_grad():
        array[:] = x * 3.0
        array[0] = x[0]
    assert array.tolist() == [1, 6]
    kept: dict[int, object] = {}
    kept[0] = x
    assert kept[0] is x


# ---- a Tensor to write into --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda x, y: np.multiply(x, 3.0, out=y), [3, 3]),
        (lambda x, y: np.multiply(x, x, y), [2, 4]),
        (lambda x, y: np.add(np.square(x, out=y), y, out=y), [4, 8]),
        (lambda x, y: np.multiply.outer(x, [1.0], out=y[:, None]), [1, 1]),
    ],
)
def test_a_ufunc_writes_into_a_tensor_as_into_an_array(write, expected):
    array, values = np.zeros(2), np.array([1.0, 2.0])
    write(values, array)
    x, y = tv.tensor(values, requires_grad=True), tv.tensor([0.0, 0.0])
    write(x, y)
    np.testing.assert_array_equal(y.numpy(), array)
    y.sum().backward()
    np.testing.assert_allclose(x.grad, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, **k: np.sum(x, axis=0, **k),
        lambda x, **k: np.clip(x, 0.5, 1.5, **k),
        lambda x, **k: np.cumsum(x, axis=None, **k)[:2],
        lambda x, **k: np.mean(np.stack([x, x]), axis=0, **k),
        lambda x, **k: np.round(x, 1, **k),
        lambda x, **k: np.concatenate([x[:1], x[1:]], **k),
        lambda x, **k: np.einsum("i,ij->j", x, np.eye(2), **k),
        lambda x, **k: np.fix(x, **k),
    ],
)
def test_a_function_writes_into_a_tensor_and_not_into_an_array(f):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    expected = f(x)
    assert f(x, out=None).tolist() == expected.tolist()
    y = tv.tensor(np.zeros(expected.shape))
    np.testing.assert_array_equal(np.asarray(f(x, out=y)), expected.numpy())
    assert y.requires_grad
    with pytest.raises(TypeError, match="out="):
        f(x, out=np.zeros(expected.shape))


def test_a_ufunc_gives_the_tensor_that_it_wrote_into_and_refuses_what_an_assignment_refuses():
    x, y = tv.tensor([1.0, 2.0], requires_grad=True), tv.tensor([0.0, 0.0])
    assert np.add(x, 1.0, out=y) is y
    with pytest.raises(InPlaceError, match="in-place add on the leaf"):
        np.add(x, 1.0, out=x)
    with pytest.raises(DTypeError, match="gradient of v would be lost"):
        np.add(x, 1.0, out=tv.tensor([0, 0]))
    with pytest.raises(NoRuleError, match=r"np\.add with out="):
        np.add(x, 1.0, out=np.zeros(2))


def test_a_custom_rule_may_write_into_copies_also_for_higher_derivatives():
    def rule(g, a):
        share = g.copy()
        share *= a
        np.multiply(share, a, out=share)
        return (3 * share,)

    cube = tv.custom_op("cube_in_place", lambda a: a**3, rule)
    x = np.array([1.5, -2.0])
    np.testing.assert_allclose(tv.grad(lambda a: cube(a).sum())(x), 3 * x * x)
    np.testing.assert_allclose(tv.hessian(lambda a: cube(a).sum())(x), np.diag(6 * x))
    np.testing.assert_allclose(tv.grad(lambda a: tv.hvp(lambda b: cube(b).sum(), a, np.ones(2)).sum())(x), [6, 6])
