"""What a route selected. Imports the record's types alone."""

from __future__ import annotations

from tensorviz.trace import Share


def selected(share: Share) -> tuple[float, int]:
    """How many elements of the operand a route selected, and of how many. Of an operand that was broadcast its copies are counted: an element may be selected in
    one place and not in another. A copy that ties with another operand counts as its part.
    """
    assert share.route is not None
    if not share.summed_axes or share.local.size <= share.route.size:
        return float((share.route > 0).sum()), share.route.size
    copies = share.local.size // max(share.route.size, 1)
    won = float(share.route.sum(dtype="f8")) * copies
    return (round(won) if abs(won - round(won)) < 1e-6 * max(won, 1) else won), share.local.size
