"""Formulas as MathML: what is set as a fraction, a root or a power, what stays words, and that nothing hostile gets through."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.views.formulas import Formula, Piece, formula
from tensorviz.views.mathml import mathml, rendered
from views import circuits

M = "{http://www.w3.org/1998/Math/MathML}"
G, A, B, OUT = Piece("∂y", "gradient"), Piece("a", "value"), Piece("b", "value"), Piece("y", "value")


def said(markup: str) -> str:
    """The markup as one line: fractions as ``(p)/(q)``, powers with ``^``, indices with ``_``, roots with ``√``."""

    def walk(e: ET.Element) -> str:
        parts = [walk(child) for child in e]
        tag = e.tag.removeprefix(M)
        if tag == "mfrac":
            return f"({parts[0]})/({parts[1]})"
        if tag in ("msup", "msub", "munder"):
            return f"{parts[0]}{'^' if tag == 'msup' else '_'}{{{parts[1]}}}"
        if tag == "msqrt":
            return f"√({''.join(parts)})"
        return (e.text or "").replace("\u2061", "") + "".join(parts)

    return walk(ET.fromstring(f'<math xmlns="{M[1:-1]}">{markup}</math>'))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((G, Piece(" · "), B), "∂y·b"),
        ((G, Piece(" / "), B), "(∂y)/(b)"),
        ((G, Piece(" / (2 · "), OUT, Piece(")")), "(∂y)/(2·y)"),
        ((G, Piece(" / ((n − 1) · "), OUT, Piece(") · "), A), "(∂y)/((n−1)·y)·a"),
        ((Piece("("), A, Piece(") / ("), B, Piece(")")), "(a)/(b)"),
        ((Piece("("), A, Piece(" + 1) · ("), B, Piece(" + 1) / 2")), "((a+1)·(b+1))/(2)"),
        ((Piece("−"), G, Piece(" · "), OUT, Piece(" / "), B), "(−∂y·y)/(b)"),
        ((G, Piece(" · "), A, Piece("b", "value", raised=True), Piece(" − 1", raised=True)), "∂y·a^{b−1}"),
        ((G, Piece(" / sqrt(1 − "), A, Piece("2", raised=True), Piece(")")), "(∂y)/(√(1−a^{2}))"),
        ((G, Piece(" · sign("), A, Piece(")")), "∂y·sign(a)"),
        ((Piece("abs("), A, Piece(")")), "|a|"),
        ((A, Piece(".T @ "), G), "a^{T}@∂y"),
        ((Piece("inv("), A, Piece(").T")), "inv(a)^{T}"),
        ((Piece("g[key]"),), "g_{key}"),
        ((Piece("where("), A, Piece(" > "), B, Piece(", "), G, Piece(", 0)")), "where(a>b,∂y,0)"),
    ],
)
def test_expressions_are_set(pieces: tuple[Piece, ...], expected: str) -> None:
    assert said(rendered(pieces)) == expected


def test_a_sign_stands_between_names_that_are_no_texts_or_it_would_lose_its_spaces() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    trace = (x * 3.0 + 1.0).backward(np.ones(2))
    (share,) = trace.nodes[2].shares
    assert said(mathml(formula(trace, share))[len("<math") :].partition(">")[2].removesuffix("</math>")) == "∂(x * 3.0)=∂(x * 3.0 + 1.0)"
    assert "mtext" not in mathml(formula(trace, share))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((G, Piece(" / ties where "), A, Piece(" = "), OUT, Piece(", else 0")), "(∂y)/(ties)\u00a0where\u00a0a=y, else\u00a00"),
        ((G, Piece(", repeated along the summed axes")), "∂y, repeated along the summed axes"),
        ((Piece("einsum of "), G, Piece(" and the others")), "einsum of\u00a0∂y\u00a0and the others"),
        ((Piece("blocks"),), "blocks"),
        ((G, Piece(" · (")), "∂y\u00a0· ("),
        ((Piece(") + ("),), ") + ("),
        ((), ""),
    ],
)
def test_words_stay_words_and_what_cannot_be_read_stays_text(pieces: tuple[Piece, ...], expected: str) -> None:
    assert said(rendered(pieces)) == expected


def test_values_and_gradients_carry_their_classes() -> None:
    root = ET.fromstring(f'<math xmlns="{M[1:-1]}">{rendered((G, Piece(" · "), B))}</math>')
    assert [(e.text, e.attrib["class"]) for e in root.iter() if "class" in e.attrib] == [("∂y", "tv-gradient"), ("b", "tv-value")]


def test_a_whole_formula_with_its_sum_and_its_numbers() -> None:
    trace = circuits.broadcast()
    found = formula(trace, trace.node("b").shares[0])
    names, numbers = (ET.fromstring(mathml(found, numbers=which)) for which in (False, True))
    assert names.attrib["alttext"] == str(found).split("\n")[0]
    assert [e.findtext(f"{M}mtext") for e in names.iter(f"{M}munder")] == ["axis 0"]
    assert numbers.attrib["alttext"] == found.numbers
    assert [e.text for e in numbers.iter(f"{M}mn")] == ["2.2", "8.2", "10.4"]


def test_without_numbers_there_is_no_line_of_numbers() -> None:
    trace = circuits.staged()
    assert mathml(formula(trace, trace.node("num").shares[0])) != ""
    assert mathml(Formula("∂x", "=", "", (G,)), numbers=True) == ""


def test_every_rule_of_every_op_is_well_formed() -> None:
    from tensorviz.engine.op import REGISTRY
    from tensorviz.views.formulas import _pieces

    rules = {rule for op in REGISTRY.values() for rule in getattr(op, "formulas", ()) if rule}
    assert len(rules) > 60
    for rule in rules:
        root = ET.fromstring(f'<math xmlns="{M[1:-1]}">{rendered(_pieces(rule, {"g": G, "a": A, "b": B, "out": OUT}))}</math>')
        assert "".join(root.itertext()).strip()
        for e in root.iter():
            if e.tag.removeprefix(M) in ("mfrac", "msup", "msub", "munder"):
                assert len(e) == 2


def test_hostile_names_are_text() -> None:
    for name in ("</math><script>alert(1)</script>", 'x"><img src=x>', "a\x00b", "&amp;"):
        trace = circuits.squared(name=name)
        markup = mathml(formula(trace, trace.nodes[0].shares[0]), numbers=False)
        ET.fromstring(markup)
        assert not re.search(r"<(script|img)", markup)


def test_deep_brackets_do_not_overflow() -> None:
    for deep in (200, 3000):
        text = "(" * deep + "1" + ")" * deep
        assert said(rendered((Piece(text),))).count("(") == deep


def test_a_wrong_display_is_refused() -> None:
    with pytest.raises(ValueError, match="'block' or 'inline'"):
        mathml(Formula("∂x", "=", "", (G,)), display="wide")
