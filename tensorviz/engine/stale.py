"""Values that were changed in place after a rule had saved them. Knows no op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorviz.engine.late import record_module
from tensorviz.engine.node import Changed, Node
from tensorviz.errors import InPlaceError


def refuse_stale(ops: Sequence[Node]) -> None:
    """Raise if a rule about to run saved a value whose Tensor has been changed in place since."""
    for node in ops:
        op = node.op
        assert op is not None
        for name, (_, slot) in op.saved(node).items():
            kept = node if slot == -1 else node.inputs[slot] if slot >= 0 else None
            changed = kept.rare.changed if kept is not None and kept.rare is not None else None
            # a node made later (by a rule that runs on Tensors) knows that it has the old value
            if changed is not None and node.uid < changed.by:
                raise InPlaceError(
                    f"{op.name} saved {name} for its backward rule, and an in-place {changed.op} modified it afterwards (version 1, saved at version 0).\n"
                    f"  saved by {op.name}: {record_module().source_of(node) or 'source unknown'}\n"
                    f"  changed by {changed.op}: {_place(changed) or 'source unknown'}\n"
                    f"Write the change out of place (x = x + ...), or change it after backward."
                )


def _place(changed: Changed) -> Any:
    return record_module().locate(changed.code, changed.lasti)
