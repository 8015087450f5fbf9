"""The stepper as a widget: synced state, data sent once. Must not import engine or ops."""

from __future__ import annotations

import weakref
from typing import Any

from tensorviz.errors import DTypeError, MissingExtraError, OptionError, RecordError
from tensorviz.trace import Trace
from tensorviz.views.options import refuse_unknown
from tensorviz.widgets import assets, checking, output, state, wishes
from tensorviz.widgets.payload import shipment, title

try:
    import anywidget
    import traitlets
except ImportError as error:  # pragma: no cover - a plain install brings both
    raise MissingExtraError("the stepper needs anywidget and ipywidgets, which come with: pip install tensorviz-backward") from error


class SettingError(OptionError, traitlets.TraitError):
    """A value that a stepper's trait does not take."""


class _Setting(traitlets.Any):
    """A trait that is judged by ``Stepper._valid``, None included (traitlets lets None past every validator of an ``Any``)."""

    allow_none = False


class Stepper(anywidget.AnyWidget):
    """Steps through one trace, forwards and backwards, in the browser.

    ``step`` is a position in ``trace.steps`` (the screen counts from 1). Every trait can be read, set and observed from
    Python; none is needed for stepping, which goes on without a kernel.
    """

    _esm = assets.text("stepper.js")
    _css = assets.text("stepper.css")

    step = _Setting(0).tag(sync=True)
    playing = _Setting(False).tag(sync=True)
    speed = _Setting(1.0).tag(sync=True)
    granularity = _Setting("micro").tag(sync=True)
    selected = traitlets.Any(None, allow_none=True).tag(sync=True)
    breakpoints = _Setting(()).tag(sync=True)
    theme = _Setting("auto").tag(sync=True)
    presentation = _Setting(False).tag(sync=True)
    """Large type, high contrast and one pane, for a lecture hall."""

    payload = traitlets.Bytes(b"").tag(sync=True)
    """The container of `wire`, gzipped; set once."""
    info = traitlets.Dict().tag(sync=True)
    """Small facts for the front end; set once."""

    def __init__(self, trace: Trace, **options: Any) -> None:
        if not isinstance(trace, Trace):
            raise DTypeError(f"Stepper takes a Trace (what backward() returns), not {type(trace).__name__}")
        refuse_unknown("Stepper", {name: value for name, value in options.items() if name not in state.DEFAULTS}, tuple(state.DEFAULTS))
        self._trace: Trace | None = trace
        try:
            start = state.settings("Stepper", trace, options)
        except ValueError as error:
            raise SettingError(str(error)) from None
        self._channel: output.Channel | None = None
        self._shipped, data = shipment(trace)
        start |= state.opening(trace, options)
        super().__init__(**start, payload=data, info={"title": title(trace)})
        output.heard_beside_cells(self)
        self.on_msg(Stepper._asked)

    @traitlets.validate("step", "playing", "speed", "granularity", "selected", "breakpoints", "theme", "presentation")
    def _valid(self, proposal: Any) -> Any:
        if self._trace is None:
            return proposal["value"]
        try:
            return state.valid("Stepper", proposal["trait"].name, proposal["value"], self._trace)
        except ValueError as error:
            raise SettingError(str(error)) from None

    def _asked(self, content: Any, _buffers: Any) -> None:
        """What a view of the plain widget says: that it is there, or what it wants of the check."""
        if self._trace is None or not isinstance(content, dict):
            return
        if content.get("type") == "hello":
            this = weakref.ref(self)

            def tell(check: dict[str, Any]) -> bool:
                stepper = this()
                if stepper is None or stepper._trace is None:
                    return False
                stepper.send({"type": "check", "check": check})
                return True

            checking.feed(self._trace).follow(self.model_id, tell, self._shipped)
        elif content.get("type") == "check":
            checking.feed(self._trace).ask(str(content.get("action")))
        elif content.get("type") == "wish":
            reply, buffers = wishes.answer(self._trace, content.get("wish"))
            self.send({"type": "answer", "answer": reply}, buffers)

    @traitlets.observe("step", "playing", "speed", "granularity", "selected", "breakpoints", "theme", "presentation")
    def _tell(self, change: Any) -> None:
        if self._channel is not None:
            self._channel.send({change["name"]: change["new"]})

    @property
    def trace(self) -> Trace:
        """The record that is shown."""
        if self._trace is None:
            raise RecordError("this stepper was closed and holds no trace any more")
        return self._trace

    def close(self) -> None:
        """Take the stepper off the page's kernel and let go of its trace."""
        output.let_go(getattr(self, "_trace", None))  # an unfinished one is closed too
        self._trace = None
        self._channel = None
        super().close()
        self.set_trait("payload", b"")

    def __repr__(self) -> str:
        if getattr(self, "_trace", None) is None:
            return "Stepper(closed, no step left)"
        return output.plain(self.trace, self.step)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        if self._trace is None:
            return {"text/plain": repr(self)}, {}
        if self._channel is None:
            self._channel = output.Channel(self._trace, {name: getattr(self, name) for name in state.DEFAULTS})
            this = weakref.ref(self)

            def listen(changed: dict[str, Any]) -> None:
                stepper = this()
                if stepper is not None:
                    for name, value in changed.items():
                        setattr(stepper, name, value)

            self._channel.listener = listen
        return output.show(self._trace, self._channel), {}
