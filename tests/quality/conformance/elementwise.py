"""Cases of the elementwise functions: arithmetic, exponentials, trigonometry, selection, steps, activations."""

from __future__ import annotations

from .case import Case, above, apart, inside, normal, of, off_zero, positive, whole

SHAPES = (((), ()), ((3,), ()), ((), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((5, 1, 4, 1), (3, 1, 1)), ((1,), (4,)), ((0, 3), (3,)))
"""Pairs that broadcast: neither, one, both, prepended axes, axes of size 1 on either side, empty."""

CASES: list[Case] = []


def _two(function: str, ours: str, torch: str | None, a=off_zero, b=off_zero, autograd: str | None = "") -> None:
    line = (ours, torch) if autograd == "" else (ours, torch, autograd)
    for of_a, of_b in SHAPES:
        CASES.extend(of(function, line, a=a(*of_a), b=b(*of_b)))


_two("np.add", "np.add(a, b)", "a + b")
_two("np.subtract", "np.subtract(a, b)", "a - b")
_two("np.multiply", "np.multiply(a, b)", "a * b")
_two("np.divide", "np.divide(a, b)", "a / b")
_two("np.power", "np.power(a, b)", "a ** b", a=positive)
_two("np.arctan2", "np.arctan2(a, b)", "torch.arctan2(a, b)")
_two("np.hypot", "np.hypot(a, b)", "torch.hypot(a, b)")
_two("np.logaddexp", "np.logaddexp(a, b)", "torch.logaddexp(a, b)")
_two("np.logaddexp2", "np.logaddexp2(a, b)", "torch.logaddexp2(a, b)")
_two("np.maximum", "np.maximum(a, b)", "torch.maximum(a, b)")
_two("np.minimum", "np.minimum(a, b)", "torch.minimum(a, b)")
_two("np.fmax", "np.fmax(a, b)", "torch.fmax(a, b)")
_two("np.fmin", "np.fmin(a, b)", "torch.fmin(a, b)")
_two("np.remainder", "np.remainder(a, b)", "torch.remainder(a, b)", a=inside, b=above)
_two("np.floor_divide", "np.floor_divide(a, b)", None, a=inside, b=above)
_two("np.where", "np.where(a > b, a, b * 2)", "torch.where(a > b, a, b * 2)")

for sign, name in (("+", "np.add"), ("-", "np.subtract"), ("*", "np.multiply"), ("/", "np.divide")):
    CASES += of(
        name,
        (f"a {sign} b", f"a {sign} b"),
        (f"a {sign} 3", f"a {sign} 3"),
        (f"2.5 {sign} a", f"2.5 {sign} a"),
        (f"c {sign} a", f"c {sign} a"),
        a=off_zero(2, 3),
        b=off_zero(3),
        c=whole(2, 3, 4),
    )
CASES += of("np.power", ("a ** 2", "a ** 2"), ("a ** -1", "a ** -1"), ("a ** 0", "a ** 0"), ("a ** 3.0", "a ** 3.0"), a=off_zero(2, 3))
CASES += of("np.power", ("2.0 ** a", "2.0 ** a"), ("a ** 0.5", "a ** 0.5"), ("b ** a", "b ** a"), a=positive(2, 3), b=whole(1, 2, 3))
CASES += of("np.remainder", ("a % 1.5", "a % 1.5"), ("np.mod(a, 1.5)", None), a=inside(4))
CASES += of("np.negative", ("-a", "-a"), ("np.negative(a)", "torch.neg(a)"), a=normal(2, 3))
CASES += of("np.positive", ("np.positive(a)", "torch.positive(a)", None), a=normal(2, 3))

ONE = {
    "abs": off_zero,
    "fabs": off_zero,
    "exp": normal,
    "exp2": normal,
    "expm1": normal,
    "log": positive,
    "log1p": positive,
    "log2": positive,
    "log10": positive,
    "sqrt": positive,
    "square": normal,
    "reciprocal": off_zero,
    "sin": normal,
    "cos": normal,
    "tan": inside,
    "arcsin": inside,
    "arccos": inside,
    "arctan": normal,
    "sinh": normal,
    "cosh": normal,
    "tanh": normal,
    "arcsinh": normal,
    "arccosh": above,
    "arctanh": inside,
    "sinc": off_zero,
    "deg2rad": normal,
    "rad2deg": normal,
}
"""NumPy's functions of one operand that PyTorch has under the same name, and on what they are tried."""

for name, make in ONE.items():
    torch = {"fabs": "torch.abs(a)"}.get(name, f"torch.{name}(a)")
    for shape in ((), (2, 3), (0, 2)):
        CASES += of(f"np.{name}", (f"np.{name}(a)", torch), a=make(*shape))
    CASES += of(f"np.{name}", (f"np.{name}(a) * a", f"{torch} * a"), a=make(4))
CASES += of("np.radians", ("np.radians(a)", "torch.deg2rad(a)"), a=normal(3))
CASES += of("np.degrees", ("np.degrees(a)", "torch.rad2deg(a)"), a=normal(3))
CASES += of("np.cbrt", ("np.cbrt(a)", "torch.sign(a) * torch.abs(a) ** (1 / 3)", None), a=off_zero(2, 3))
CASES += of("np.conjugate", ("np.conj(a)", "torch.conj(a)"), a=normal(2, 3))
CASES += of("np.real", ("np.real(a) * a", None), a=normal(3))
CASES += of("np.real_if_close", ("np.real_if_close(a) * a", None), a=normal(3))
CASES += of("np.imag", ("np.imag(a) + a", None), a=normal(3))
CASES += of("np.angle", ("np.angle(a) + a", None), ("np.angle(a, deg=True) + a", None, None), a=off_zero(3))

for name in ("sign", "floor", "ceil", "trunc", "rint", "round"):
    torch = {"rint": "torch.round(a)"}.get(name, f"torch.{name}(a)")
    CASES += of(f"np.{name}", (f"np.{name}(a) * a", f"{torch} * a"), a=apart(2, 3))
CASES += of("np.round", ("np.round(a, 1) + a", "torch.round(a, decimals=1) + a"), ("np.around(a) + a", None), a=apart(4))
CASES += of("np.fix", ("np.fix(a) + a", "torch.fix(a) + a"), a=apart(4))

CASES += of(
    "np.clip",
    ("np.clip(a, -0.5, 0.6)", "torch.clamp(a, -0.5, 0.6)"),
    ("np.clip(a, None, 0.6)", "torch.clamp(a, max=0.6)"),
    ("np.clip(a, -0.5, None)", "torch.clamp(a, min=-0.5)"),
    ("np.clip(a, b, c)", "torch.clamp(a, b, c)", None),
    a=apart(2, 4),
    b=whole(-1, -2, -1, 0, dtype=float),
    c=whole(1, dtype=float),
)
CASES += of(
    "np.where",
    ("np.where(k, a, b)", "torch.where(k, a, b)"),
    ("np.where(k, a, 1.0)", "torch.where(k, a, 1.0)"),
    ("np.where(k, 0, b)", "torch.where(k, torch.zeros(()).double(), b)"),
    k=whole([[True], [False]], dtype=bool),
    a=normal(2, 3),
    b=normal(3),
)
CASES += of(
    "np.nan_to_num", ("np.nan_to_num(a)", "torch.nan_to_num(a)"), ("np.nan_to_num(a, nan=2.0)", "torch.nan_to_num(a, nan=2.0)", None), a=normal(2, 3)
)

for name, torch in {
    "relu": "F.relu(a)",
    "leaky_relu": "F.leaky_relu(a)",
    "elu": "F.elu(a)",
    "silu": "F.silu(a)",
    "sigmoid": "torch.sigmoid(a)",
    "softplus": "F.softplus(a)",
    "erf": "torch.erf(a)",
}.items():
    autograd = {"sigmoid": "1 / (1 + np.exp(-a))", "relu": "np.maximum(a, 0)", "softplus": "np.logaddexp(a, 0)"}.get(name)
    CASES += [case for shape in ((), (2, 3)) for case in of(f"tv.{name}", (f"tv.{name}(a)", torch, autograd), a=off_zero(*shape))]
CASES += of("tv.leaky_relu", ("tv.leaky_relu(a, 0.2)", "F.leaky_relu(a, 0.2)"), a=off_zero(4))
CASES += of("tv.elu", ("tv.elu(a, 0.5)", "F.elu(a, 0.5)"), a=off_zero(4))
CASES += of("tv.gelu", ("tv.gelu(a)", "F.gelu(a)"), ("tv.gelu(a, approximate='tanh')", "F.gelu(a, approximate='tanh')"), a=off_zero(2, 3))
CASES += of(
    "tv.dropout", ("tv.dropout(a, 0.5, training=False)", "F.dropout(a, 0.5, training=False)"), ("tv.dropout(a, 0.4, seed=3)", None), a=normal(2, 3)
)

# float32 and whole numbers
CASES += of(
    "mixed dtypes",
    ("a * b", "a * b"),
    ("a * 2", "a * 2"),
    ("a * 0.1", "a * 0.1"),
    ("a + k", "a + k"),
    ("a @ c", None),
    ("np.exp(a) + b", "torch.exp(a) + b"),
    ("np.float64(2) * a", None, None),
    ("a.astype('float64') * b", "a.double() * b"),
    a=normal(2, 3, dtype="float32"),
    b=normal(3),
    c=normal(3),
    k=whole(1, 2, 3, dtype="int32"),
)
