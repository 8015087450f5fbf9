"""What belongs to one item of the picture, before it has a place: glyph, words, arriving wires, labels, badges. Imports trace and other views only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorviz.axes import in_words
from tensorviz.trace import Array, Share, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views import text
from tensorviz.views.born import births
from tensorviz.views.labels import Label, label
from tensorviz.views.scene import Item, Scene, Wire
from tensorviz.views.selected import selected

SYMBOL, WORD, NAME, BADGE = 18.0, 14.0, 12.0, 12.0
"""Text sizes: an op's sign or a short name, a longer word in a glyph, the name beside a glyph, badges."""
PILL = 22.0
"""Height of a badge."""
MOST_LINES = 4
"""Parameters that are listed under a collapsed scope."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A badge before it has a place."""

    kind: str
    """``unbroadcast``, ``route``, ``hand`` or ``fork``; ``nan`` or ``inf`` where one was born."""
    text: str
    icon: bool = False
    """A drawn sign instead of words, where there is no room for them."""

    @property
    def width(self) -> float:
        if self.icon:
            return PILL
        return max(PILL, 14 + 7.4 * text.units(self.text))


@dataclass(frozen=True, slots=True)
class Content:
    """A label with the arrays that it shows in turn; the last one is the final state."""

    label: Label
    arrays: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One wire that comes in."""

    use: str
    """``"consumer:slot"``; for the wire of a detached node ``"id:cut"``."""
    tags: tuple[Tag, ...] = ()
    share: Content | None = None
    """The share's own label, where its target is a fork."""
    cut: bool = False
    stub: str = ""
    """What stands where the wire begins, if its operand is not drawn."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Says that NaN or an infinity was born here."""

    tag: Tag
    edges: tuple[str, ...]
    """Those on which it is sent; empty where it was born forward."""


@dataclass(slots=True)
class Parts:
    """Everything that an item shows."""

    item: Item
    shape: str
    """``leaf parameter constant detached op scope fold``"""
    root: bool
    word: str
    size: float
    glyph: tuple[float, float]
    name: str
    arrivals: list[Arrival]
    leaves: bool
    """Whether a wire goes out (for a root, the one on which the seed arrives)."""
    value: Content | None = None
    gradient: Content | None = None
    missing: str = ""
    """What stands in the gradient's place where there is none."""
    fork: Tag | None = None
    born: tuple[Mark, ...] = ()
    saved_input: bool = False
    saved_output: bool = False
    lines: list[tuple[int, str, Content]] = field(default_factory=list)
    """For scopes: id, name and gradient of parameters inside."""
    title: str = ""
    aria: str = ""


def parts(trace: Trace, scene: Scene) -> list[Parts]:
    """The parts of every item of ``scene``, in its order."""
    into: dict[str, list[Wire]] = {}
    going: set[str] = set()
    for wire in scene.wires:
        into.setdefault(wire.head, []).append(wire)
        going.add(wire.tail)
    shares = {share.edge: share for item in scene.items if item.node is not None for share in item.node.shares}
    roots = {scene.owner[r] for r in trace.roots}
    return [
        _parts(
            trace, item, _arrivals(trace, item, into.get(item.key, ()), scene.stubs.get(item.key, ()), shares), item.key in roots, item.key in going
        )
        for item in scene.items
    ]


def _arrivals(trace: Trace, item: Item, wires: Sequence[Wire], stubs: Sequence[Sequence[str]], shares: dict[str, Share]) -> list[Arrival]:
    found = []
    for wire in wires:
        if wire.cut:
            found.append(Arrival(f"{item.members[0]}:cut", cut=True))
        else:
            use = wire.uses[0]
            share = shares.get(use) if item.node is not None else None
            several = share is not None and len(trace.nodes[share.target].shares) > 1
            content = Content(label([share.value], True), (share.value,)) if share is not None and several else None
            found.append(Arrival(use, tags(trace, share) if share is not None else (), content))
    found += [Arrival(uses[0], stub=f"… {fmt.count(len(uses))} more" if len(uses) > 1 else "…") for uses in stubs]
    return sorted(found, key=lambda arrival: _order(arrival.use))


def _order(use: str) -> tuple[int, int]:
    consumer, _, slot = use.partition(":")
    return int(consumer), 0 if slot == "cut" else int(slot)


def tags(trace: Trace, share: Share) -> tuple[Tag, ...]:
    """What is written on the wire of a share, receiver's side first: the axes it was summed over, and how it was routed; or that it was set by hand.

    A tie is counted once. Weights of a route are 1 for a winner and 1/k for each of k entries that tie. Where those stand in one array, as for the maximum
    along an axis, the weights below 1 add up to the number of ties; where a result has a place for each entry, an entry ties with those of other operands.
    """
    if share.by_hand:
        return (Tag("hand", "set by hand"),)
    found = []
    if share.summed_axes:
        found.append(Tag("unbroadcast", f"Σ {in_words(share.summed_axes)}"))
    if share.route is not None:
        won, places = selected(share)
        beside = share.route.shape == trace.nodes[share.consumer].shape
        ties = int(share.tied.sum()) if beside else round(float(share.route[share.tied].sum()))
        tail = f" · {fmt.counted(ties, 'tie')}" if ties else ""
        found.append(Tag("route", f"{fmt.part(won)} of {fmt.count(places)}{tail}"))
    return tuple(found)


def _parts(trace: Trace, item: Item, arrivals: list[Arrival], root: bool, leaves: bool) -> Parts:
    node = item.node
    shape, word, name = _words(item)
    short = len(word) <= 3 and not (shape == "constant" and node is not None and not node.name)
    size = SYMBOL if short else WORD
    made = Parts(item, shape, root, word, size, _glyph(shape, word, size), name, arrivals, leaves or root)
    made.born = _born(trace, item)
    if node is None:
        inside = fmt.counted(len(item.members), "node")
        made.title, made.aria = f"{item.label}: {inside}", f"{item.kind} {text.cut(item.label)} {inside}"
        made.lines = _parameters(trace, item)
        return made
    if shape != "constant" or node.value.size != 1 or node.name:
        made.value = Content(label([node.value], False), (node.value,))
    totals = running_totals(trace, node)
    if totals:
        made.gradient = Content(label(totals, True), tuple(totals))
    elif node.requires_grad:
        made.missing = "∂ ?" if not trace.data.steps else "no ∂" if node.is_leaf else ""
    if len(node.shares) > 1:
        made.fork = Tag("fork", f"Σ {len(node.shares)}/{len(node.shares)}")
    made.saved_input = any(slot >= 0 for slot in node.saved_from.values())
    made.saved_output = any(slot < 0 for slot in node.saved_from.values())
    dims = fmt.shape(node.shape)
    lone = shape == "constant" and not node.name and node.value.size == 1
    called = f" {node.name}" if node.name else f" {word}" if lone else ""
    lines = [f"{node.op}{called} {dims} {node.dtype}", f"in {node.scope}" if node.scope else "", _made_at(node)]
    made.title, made.aria = "\n".join(text.visible(line) for line in lines if line), f"{node.op}{text.cut(called)} {dims}"
    return made


def _born(trace: Trace, item: Item) -> tuple[Mark, ...]:
    """What was born at the item, or inside it: forward first."""
    known = births(trace)
    here = [known[i] for i in item.members if i in known] if known else []
    out = []
    forward = [birth for birth in here if birth.forward]
    if any(birth.forward == "nan" for birth in forward):
        out.append(Mark(Tag("nan", "NaN"), ()))
    elif forward:
        signs = {birth.sign for birth in forward}
        out.append(Mark(Tag("inf", {1: "+∞", -1: fmt.MINUS + "∞"}.get(signs.pop(), "±∞") if len(signs) == 1 else "±∞"), ()))
    backward = [birth for birth in here if birth.backward]
    if backward:
        nan = any(birth.backward == "nan" for birth in backward)
        out.append(Mark(Tag("nan", "∂ NaN") if nan else Tag("inf", "∂ ∞"), tuple(edge for birth in backward for edge in birth.edges)))
    return tuple(out)


def _made_at(node: TraceNode) -> str:
    """The place in the user's program, without the folders: pictures travel."""
    if node.source is None:
        return ""
    file = node.source.file.replace("\\", "/").rpartition("/")[2]
    code = node.source.code.strip()
    return f"{file}:{node.source.line}" + (f": {code}" if code else "")


def _words(item: Item) -> tuple[str, str, str]:
    """The glyph's shape, the text inside and the name beside it."""
    node = item.node
    if node is None:
        return item.kind, text.cut(item.label), fmt.counted(len(item.members), "node") if item.kind == "scope" else ""
    if node.kind == "op":
        return "op", text.cut(node.label or node.op), text.cut(node.name or "")
    if node.kind == "constant" and not node.name:
        return "constant", fmt.number(node.value.reshape(-1)[0]) if node.value.size == 1 else "const", ""
    return node.kind, text.cut(node.name or node.kind), ""


def _glyph(shape: str, word: str, size: float) -> tuple[float, float]:
    wide = text.width(word, size)
    if shape == "op":
        return (42.0, 42.0) if wide <= 24 else (max(46.0, wide + (18 if size == SYMBOL else 26)), 42.0)
    if shape == "constant":
        return max(28.0, wide + 14), 28.0
    if shape == "fold":
        return wide + 28, 34.0
    if shape == "scope":
        return max(84.0, wide + 28), 46.0
    return (max(52.0, wide + 24), 42.0) if shape == "leaf" else (max(58.0, wide + 34), 42.0)


def running_totals(trace: Trace, node: TraceNode) -> list[Array]:
    """Every sum that can stand at the node: the seed of a root, then one per share."""
    found = [share.total for share in node.shares]
    if node.id in trace.roots and node.cotangent is not None and not found:
        found.append(node.cotangent)
    return found


def _parameters(trace: Trace, item: Item) -> list[tuple[int, str, Content]]:
    found: list[tuple[int, str, Content]] = []
    for i in item.members:
        node = trace.nodes[i]
        totals = running_totals(trace, node)
        if node.is_leaf and node.requires_grad and node.name and totals and len(found) < MOST_LINES:
            wide = max(text.width("‖∂‖ " + fmt.stats(total), NAME) for total in totals)
            found.append((i, text.cut(node.name, 16), Content(Label("stats", True, 0, 0, 0.0, wide, 16.0, ""), tuple(totals))))
    return found
