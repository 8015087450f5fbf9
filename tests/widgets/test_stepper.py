"""The widget's Python half: state in and out, refusals in words, and letting go."""

from __future__ import annotations

import gc
import json
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import traitlets

import tensorviz as tv
from tensorviz.errors import RecordError
from tensorviz.widgets import output, state
from tensorviz.widgets.stepper import Stepper
from wire.examples import broadcast, fork, routed


def test_options_and_traits_are_the_documented_ones():
    s = Stepper(broadcast(), step=3, speed=2, granularity="share", selected="b", breakpoints=["fork", "X"], theme="dark")
    assert (s.step, s.playing, s.speed, s.granularity, s.selected, s.breakpoints, s.theme) == (3, False, 2.0, "share", 1, ["fork", 0], "dark")
    s.step = np.int64(4)
    s.speed, s.presentation = np.float32(0.5), np.True_
    assert (type(s.step), type(s.speed), type(s.presentation)) == (int, float, bool)
    s.close()


def test_a_breakpoint_may_be_an_op_or_a_function_of_a_node():
    trace = broadcast()
    large = Stepper(trace, breakpoints=[lambda node: np.abs(node.grad).max() > 15, "nan"])
    assert large.breakpoints == [n.id for n in trace.nodes if n.grad is not None and np.abs(n.grad).max() > 15] + ["nan"]
    assert Stepper(trace, breakpoints=["add", "pow"]).breakpoints == [n.id for n in trace.nodes if n.op in ("add", "pow")]
    assert Stepper(trace, breakpoints=["add", "b", "add"]).breakpoints == [trace.nodes[2].id, trace["b"].id]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("step", 11, r"integer from 0 to 10 \(a position in trace.steps\), got 11"),
        ("step", -1, "got -1"),
        ("step", 1.5, "got 1.5"),
        ("step", True, "got True"),
        ("playing", 1, "True or False"),
        ("speed", 0, "number from 0.1 to 20"),
        ("granularity", "steps", "'node', 'share', 'micro'"),
        ("theme", "blue", "'auto', 'light', 'dark', 'cs231n', 'colorblind'"),
        ("selected", "nobody", "Names: L, X, b"),
        ("breakpoints", "fork", "a list of fork"),
        ("breakpoints", ["forks"], "'forks' is neither one of fork"),
    ],
)
def test_an_invalid_value_is_refused_in_words_and_changes_nothing(name, value, words):
    s = Stepper(broadcast())
    before = getattr(s, name)
    with pytest.raises(traitlets.TraitError, match=words):
        setattr(s, name, value)
    with pytest.raises(traitlets.TraitError, match=words):
        Stepper(broadcast(), **{name: value})
    assert getattr(s, name) == before


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(TypeError, match="no option 'colour'; it has step, playing"):
        Stepper(broadcast(), colour="red")
    with pytest.raises(TypeError, match="takes a Trace"):
        Stepper("trace")  # type: ignore[arg-type]


def test_an_option_that_was_misspelt_is_guessed():
    with pytest.raises(TypeError, match=r"no option 'them' \(did you mean theme='dark'\?\)"):
        Stepper(broadcast(), them="dark")
    with pytest.raises(TypeError, match=r"no option 'palette' \(did you mean theme='dark'\?\)"):
        Stepper(broadcast(), palette="dark")


def test_the_palette_for_colour_blind_readers_is_the_light_theme():
    assert Stepper(broadcast(), theme="colorblind").theme == "light"


def test_python_hears_of_changes():
    s, seen = Stepper(broadcast()), []
    s.observe(lambda change: seen.append(change["new"]), "step")
    s.step = 5
    assert seen == [5]


def test_the_synced_state_is_json_and_bytes():
    for key, value in Stepper(routed()).get_state().items():
        if not isinstance(value, (bytes, memoryview)):
            json.dumps(value, allow_nan=False), key


def test_a_closed_stepper_lets_go_of_its_trace():
    trace = broadcast()
    s = Stepper(trace)
    s._repr_mimebundle_()
    there, widget = weakref.ref(trace), weakref.ref(s)
    s.close()
    assert "closed" in repr(s)
    with pytest.raises(RecordError, match="closed"):
        s.trace
    del trace, s
    gc.collect()
    assert there() is None
    assert widget() is None


def test_showing_a_trace_does_not_keep_it_alive():
    trace = broadcast()
    output.bundle(trace)
    there = weakref.ref(trace)
    del trace
    gc.collect()
    assert there() is None


def test_the_text_form_is_one_line_with_the_step():
    s = Stepper(broadcast(), step=7)
    assert repr(s).startswith("Stepper of Trace of L: 5 nodes, 11 steps, 0 forks, at step 8 of 11: Forward copied b along axis 0")
    assert len(repr(s)) < 400


# ---- the output: frame, list, relay -------------------------------------------------------------------------------


def test_the_output_is_one_frame_with_a_list_for_places_without_scripts():
    bundle, _ = Stepper(fork())._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    html = bundle["text/html"]
    assert html.count("<iframe") == 1
    assert 'sandbox="allow-scripts allow-downloads"' in html
    assert html.count("<li>") == 5
    assert "x is used twice, so its shares add" in html


def test_hostile_names_stay_text():
    trace = fork()
    evil = '</script><img src=x onerror="alert(1)">'
    object.__setattr__(trace.nodes[1], "name", evil)
    html = output.bundle(trace)["text/html"]
    assert evil not in html
    assert "<img" not in html


def test_what_a_page_says_reaches_the_stepper_and_what_is_not_allowed_does_not():
    s = Stepper(broadcast())
    s._repr_mimebundle_()
    assert s._channel is not None
    s._channel.receive({"step": 4, "theme": "blue", "unknown": 1, "selected": 2})
    assert (s.step, s.theme, s.selected) == (4, "auto", 2)
    s.step = 6
    assert s._channel.state["step"] == 6


def test_every_default_is_valid_by_itself():
    for name, value in state.DEFAULTS.items():
        assert state.valid("Stepper", name, value, broadcast()) == value


# ---- the page -----------------------------------------------------------------------------------------------------


def test_the_page_is_one_file_at_the_wanted_step(tmp_path):
    path = tmp_path / "page.html"
    text = broadcast().to_html(path, step=7, theme="dark", title="A <b>title")
    assert path.read_text("utf-8") == text
    assert "<title>A &lt;b&gt;title</title>" in text
    assert '"step": 7' in text
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_page_refuses_a_step_that_is_not_there():
    with pytest.raises(ValueError, match="step must be an integer from 0 to 10"):
        broadcast().to_html(step=99)
    with pytest.raises(ValueError, match="theme must be one of"):
        broadcast().to_html(theme="pink")


def test_a_page_is_the_same_bytes_each_time():
    assert broadcast().to_html() == broadcast().to_html()


@pytest.mark.parametrize("name", ["lone \ud800 surrogate", "bell \x07", "<b>", "x" * 50_000], ids=["surrogate", "control", "markup", "long"])
def test_whatever_a_name_holds_the_page_and_the_output_are_proper_text(name):
    x = tv.tensor(2.0, requires_grad=True, name=name)
    trace = (x * x).backward()
    for text in (trace.to_html(title=name), *output.bundle(trace).values()):
        text.encode("utf-8")
    assert len(output.bundle(trace)["text/plain"]) < 400


def test_a_stepper_opens_at_the_rule_that_the_check_blames_unless_it_is_told_where():
    wrong = tv.custom_op("opens_here", lambda a: a * a, lambda g, a: (g * a,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = np.sin(wrong(x)).sum().backward()
    stepper = trace.show()
    step = trace.steps[stepper.step]
    assert step.kind == "pull" and trace.nodes[step.node].op == "opens_here"
    assert stepper.selected is None  # so that the inspector follows whoever steps on
    assert (trace.show(step=0).step, trace.show(step=0).selected) == (0, None)
    page = trace.to_html()
    assert f'"step": {stepper.step}' in page and '"step": 0' in trace.to_html(step=0)


def test_in_a_kernel_the_latest_outputs_keep_their_traces_and_older_ones_let_go(monkeypatch):
    monkeypatch.setattr(output, "in_kernel", lambda: True)
    monkeypatch.setattr(output, "relay", lambda: None)
    monkeypatch.setattr(output, "_latest", output._latest.__class__(maxlen=output.LATEST))

    def shown() -> weakref.ref:
        x = tv.tensor(2.0, requires_grad=True)
        trace = (x * x).backward()
        output.bundle(trace)
        output.bundle(trace)  # again: it takes no second place
        return weakref.ref(trace)

    refs = [shown() for _ in range(output.LATEST + 2)]
    gc.collect()
    assert [there() is not None for there in refs] == [False, False] + [True] * output.LATEST
    kept = output._of_trace[refs[-1]()]
    assert output._channels[kept.id].trace is refs[-1]()
    Stepper(refs[-1]()).close()
    gc.collect()
    assert refs[-1]() is None


def test_a_page_that_asks_for_a_trace_that_is_gone_is_told_so_and_a_frame_of_another_kernel_hears_nothing(monkeypatch):
    heard = []
    monkeypatch.setattr(output, "_relay", SimpleNamespace(send=heard.append))
    for kind in ("state", "wish", "check", "hello"):
        output._on_message({"type": kind, "id": "nobody"})
    assert heard == [{"type": "gone", "id": "nobody"}] * 3
