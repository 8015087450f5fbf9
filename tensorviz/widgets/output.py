"""A trace as one lasting notebook output: a sandboxed frame that steps by itself, joined to the kernel while one is there. Must not import engine or ops."""

from __future__ import annotations

import base64
import gzip
import html
import json
import secrets
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from tensorviz.trace import Trace
from tensorviz.views.text import visible, xml
from tensorviz.widgets import assets, checking, state, wishes
from tensorviz.widgets.cells import Cells
from tensorviz.widgets.payload import shipment, title

if TYPE_CHECKING:
    from tensorviz.checks.report import CheckReport

STATIC_STEPS = 200
"""Steps that the list for places without scripts holds; the list is text in every saved notebook."""

CSP = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
"""The frame and the page can load nothing from anywhere."""


# Until a frame says how high it is it has about the height that it will have, so that little moves when it does.
_WIDE = {"one": 634, "pair": 704}
_NARROW = {"one": {880: 672, 760: 635, 560: 649}, "pair": {1532: 666, 1132: 680, 811: 1412, 760: 1336, 560: 1364}}
"""By the widest frame that has them; the steppers of a pair stand side by side from 812 px on."""
FRAME_STYLE = (
    ".tensorviz-output{container-type:inline-size}.tensorviz-output:has(iframe)>.tensorviz-static{display:none}"
    "@media (scripting:none){.tensorviz-output:has(iframe)>.tensorviz-static{display:block}.tensorviz-frame.tensorviz-frame{display:none}}"
    ".tensorviz-frame{display:block;width:100%;border:0}"
    + "".join(f".tensorviz-frame[data-rows={rows}]{{height:{height}px}}" for rows, height in _WIDE.items())
    + "".join(
        f"@container (max-width:{width}px){{.tensorviz-frame[data-rows={rows}]{{height:{height}px}}}}"
        for rows, heights in _NARROW.items()
        for width, height in heights.items()
    )
)


class Channel:
    """The kernel's end of one display: its state, and who wants to hear of it."""

    def __init__(self, trace: Trace, options: Mapping[str, Any]) -> None:
        self.id = secrets.token_hex(8)
        self.state = state.settings("show", trace, options)
        self._trace = weakref.ref(trace)
        self.listener: Callable[[dict[str, Any]], None] | None = None
        self.shipped: CheckReport | None = None
        """The report that the latest output carries."""

    @property
    def trace(self) -> Trace | None:
        return self._trace()

    def receive(self, patch: Mapping[str, Any]) -> None:
        """Take over what a page says; what is not allowed is passed over."""
        trace = self.trace
        if trace is None:
            return
        changed = {}
        for name, value in patch.items():
            try:
                clean = state.valid("page", name, value, trace)
            except ValueError:
                continue
            if clean != self.state[name]:
                changed[name] = self.state[name] = clean
        if changed and self.listener is not None:
            self.listener(changed)

    def send(self, patch: Mapping[str, Any]) -> None:
        """Tell every page that shows this display."""
        changed = {k: v for k, v in patch.items() if self.state[k] != v}
        if changed:
            self.state.update(changed)
            if _relay is not None:
                _relay.send({"type": "state", "id": self.id, "state": changed})

    def tell_check(self, check: dict[str, Any]) -> bool:
        """Take word of the check to the pages that show this display."""
        if _relay is None:
            return False
        _relay.send({"type": "check", "id": self.id, "check": check})
        return True


_channels: weakref.WeakValueDictionary[str, Channel] = weakref.WeakValueDictionary()
_of_trace: weakref.WeakKeyDictionary[Trace, Channel] = weakref.WeakKeyDictionary()
_relay: Any = None
_cells: Cells | None = None

LATEST = 3
"""Traces that are kept for their outputs though nobody else holds them, as after ``display(f())``: what is on the screen can be changed, and memory
stays bounded."""
_latest: deque[Trace] = deque(maxlen=LATEST)


def in_kernel() -> bool:
    """True inside a Jupyter kernel (IPython in a terminal has none)."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def relay() -> Any:
    """The one widget of this kernel that joins frames to it, or None. Never displayed: its comm alone makes the page run ``initialize``."""
    global _relay
    if not in_kernel():
        return None
    if _relay is None or _relay.comm is None:
        try:
            import anywidget
        except ImportError:
            return None  # the frame still steps, it is only not joined to Python

        class Relay(anywidget.AnyWidget):
            _esm = (
                assets.text("host.js")
                + "\nexport default { initialize({ model }) { return globalThis.__tensorvizHost1.attach(model); }, render() {} };\n"
            )

        _relay = Relay()
        heard_beside_cells(_relay)
        _relay.on_msg(lambda _widget, message, _buffers: _on_message(message))
    return _relay


def heard_beside_cells(widget: Any) -> None:
    """Have what a page says to a widget heard where the page sends it, in JupyterLab beside the cells, so that a check can be stopped while a cell runs.

    ipykernel takes it to where the widget has last spoken from instead, which of a thread is where the cells run. And a comm runs IPython's hooks of
    a cell around every message: from beside a cell that draws, matplotlib's would take the unfinished figure away from it, and draw in two threads.
    """
    comm = widget.comm

    def hear(message: Any) -> None:
        if comm._msg_callback:
            comm._msg_callback(message)

    with suppress(AttributeError):  # not in a kernel
        comm._reply_subshell_for = lambda _data, sent_to: sent_to
        if hasattr(comm, "_msg_callback"):
            comm.handle_msg = hear


def _on_message(message: Mapping[str, Any]) -> None:
    kind, name = message.get("type"), str(message.get("id"))
    channel = _channels.get(name)
    if channel is None or channel.trace is None:
        if kind != "hello":  # said by every frame, also by those of another kernel; all else is meant for this one, where the trace was
            _relay.send({"type": "gone", "id": name})
        return
    if kind == "hello":
        _relay.send({"type": "mine", "id": channel.id, "state": channel.state})
        checking.feed(channel.trace).follow(channel.id, channel.tell_check, channel.shipped)
    elif kind == "check":
        checking.feed(channel.trace).ask(str(message.get("action")))
    elif kind == "state" and isinstance(message.get("state"), Mapping):
        channel.receive(message["state"])
        _relay.send({"type": "ack", "id": channel.id, "state": channel.state, "page": message.get("page")})
    elif kind == "wish":
        reply, buffers = wishes.answer(channel.trace, message.get("wish"))
        _relay.send({"type": "answer", "id": channel.id, "answer": reply}, buffers)


def _pack(text: bytes) -> str:
    return base64.b64encode(text).decode("ascii")


@cache
def _bundle() -> str:
    parts = json.dumps({"css": assets.text("stepper.css"), "js": assets.text("stepper.js")})
    return _pack(gzip.compress(parts.encode(), 9, mtime=0))


_LOADER = """(async () => {
  const open = async (text) => new Response(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const part = (tag, text, more) => document.head.append(Object.assign(document.createElement(tag), { textContent: text }, more));
  const { css, js } = JSON.parse(await open(BUNDLE));
  part("style", css);
  globalThis.__tensorvizFrame = FRAME;
  part("script", js, { type: "module" });
})();"""


def document(data: bytes, frame: Mapping[str, Any], *, heading: str, fallback: str = "") -> str:
    """One HTML document with the whole stepper, for a frame or a file."""
    boot = json.dumps(dict(frame) | {"data": _pack(data)}).replace("<", "\\u003c")
    loader = _LOADER.replace("BUNDLE", f'"{_bundle()}"').replace("FRAME", boot)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{CSP}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{xml(heading)}</title>'
        f"<style>html,body{{margin:0}}</style></head><body>{fallback}<script>{loader}</script></body></html>"
    )


def static_list(trace: Trace) -> str:
    """The steps in plain tags, for places that take scripts and frames out."""
    steps = trace.steps
    rows = "".join(f"<li>{xml(s.caption)}</li>" for s in steps[:STATIC_STEPS])
    more = f"<p>… and {len(steps) - STATIC_STEPS:,} more steps.</p>" if len(steps) > STATIC_STEPS else ""
    return (
        f"<p><b>{xml(title(trace))}, {len(steps):,} steps.</b> Trust this notebook or run the cell to step through it.</p>"
        f"<details><summary>The steps as text</summary><ol>{rows}</ol>{more}</details>"
    )


def frame_html(trace: Trace, channel: Channel) -> str:
    """The ``text/html`` of a display."""
    channel.shipped, data = shipment(trace)
    checking.feed(trace).tell()  # what the page has of an older output is not to take this one's place
    inner = document(data, {"id": channel.id, "state": channel.state}, heading=title(trace))
    return framed(inner, channel.id, heading=f"{title(trace)}, step by step", fallback=static_list(trace))


def framed(inner: str, frame: str, *, heading: str, fallback: str, rows: str = "one") -> str:
    """A document in a sandboxed frame: the output of a cell. ``rows`` is ``"one"`` or ``"pair"``: how many steppers stand below each other."""
    return (
        f'<div class="tensorviz-output"><style>{FRAME_STYLE}</style><div class="tensorviz-static">{fallback}</div>'
        f'<iframe class="tensorviz-frame" data-tensorviz="{frame}" data-rows="{rows}" title="{xml(heading)}" sandbox="allow-scripts allow-downloads" '
        f'srcdoc="{html.escape(inner)}"></iframe><script>{assets.text("host.js")}</script></div>'
    )


def plain(trace: Trace, step: int = 0) -> str:
    """One line for terminals."""
    caption = f": {trace.steps[step].caption}" if trace.steps else ""
    line = visible(f"Stepper of {trace!r}, at step {step + 1} of {len(trace.steps)}{caption}")
    return line if len(line) <= 390 else line[:389] + "…"


def show(trace: Trace, channel: Channel) -> dict[str, Any]:
    """The mimebundle of one channel; the channel is known to the relay from now on."""
    if in_kernel():
        _channels[channel.id] = channel
        relay()
        _note(trace)
        if not any(kept is trace for kept in _latest):
            _latest.append(trace)
    return {"text/plain": plain(trace, channel.state["step"]), "text/html": frame_html(trace, channel)}


def _note(trace: Trace) -> None:
    """The cell that runs shows this pass."""
    global _cells
    from IPython import get_ipython

    shell = get_ipython()
    parent = getattr(getattr(shell, "kernel", None), "get_parent", None)
    if parent is None:  # a kernel of another make
        return
    if _cells is None:
        _cells = Cells()
        _cells.watch(shell)
    _cells.shows(trace, parent())


def let_go(trace: Trace | None) -> None:
    """Keep ``trace`` for its outputs no longer."""
    kept = [other for other in _latest if other is not trace]
    _latest.clear()
    _latest.extend(kept)


def bundle(trace: Trace) -> dict[str, Any]:
    """What a trace shows as the last value of a cell."""
    channel = _of_trace.get(trace)
    if channel is None:
        channel = _of_trace[trace] = Channel(trace, {})
        shipment(trace)  # checks a small trace
        channel.state |= state.opening(trace, {})
    return show(trace, channel)
