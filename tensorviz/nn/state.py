"""The state of a module: named arrays, how they are checked and put in place, and the npz files that hold them. Imports the engine only."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorviz import arguments
from tensorviz.arguments import shown
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import StateError

Array = npt.NDArray[Any]


class Loaded(NamedTuple):
    """What ``load_state_dict`` could not match: names that the state lacks, and names that the module lacks."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]


def load(owner: str, targets: Mapping[str, Tensor], state: Mapping[str, Any], *, strict: bool) -> Loaded:
    """Write the arrays of ``state`` into the Tensors of the same names. Everything is checked before anything is written."""
    if not isinstance(state, Mapping):
        raise StateError(f"load_state_dict of {owner} takes a dict of arrays by name, got {type(state).__name__}; for a file use load(path)")
    found = Loaded(tuple(k for k in targets if k not in state), tuple(k for k in state if k not in targets))
    problems = []
    if strict and found.missing:
        problems.append(f"missing: {', '.join(found.missing)}")
    if strict and found.unexpected:
        problems.append(f"unexpected: {', '.join(map(str, found.unexpected))}")
    arrays: dict[str, Array] = {}
    for name in targets:
        if name in state:
            kept = targets[name]
            try:
                array = np.asarray(state[name])
            except (ValueError, TypeError):
                problems.append(f"{name} is no rectangular array, got {shown(state[name])}")
                continue
            if array.shape != kept.shape:
                problems.append(f"{name} has shape {array.shape}, expected {kept.shape}")
            elif not np.can_cast(array.dtype, kept.dtype, "same_kind"):
                problems.append(f"{name} has dtype {array.dtype}, expected {kept.dtype}")
            arrays[name] = array
    if problems:
        advice = "; strict=False ignores names that only one side has" if strict and (found.missing or found.unexpected) else ""
        raise StateError(f"the state does not fit this {owner}: {'; '.join(problems)}. Nothing was loaded{advice}")
    for name, array in arrays.items():
        targets[name].data = array
    return found


def write(path: str | PathLike[str], arrays: Mapping[str, Array]) -> None:
    """An npz file, as ``np.savez`` writes it; any name may be used, and the same arrays give the same bytes."""
    target = arguments.file("save", path)
    with arguments.writing("save", target), zipfile.ZipFile(target, "w") as archive:
        for name, array in arrays.items():
            # a ZipInfo of its own has a fixed date
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def read(path: str | PathLike[str]) -> dict[str, Array]:
    """The arrays of an npz file, by name. Nothing in it is run."""
    source = arguments.file("load", path)
    try:
        # opened here, because np.load leaves a damaged file open
        with arguments.reading("load", source), source.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.ndarray):
                return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise StateError(f"{path} is no npz file of arrays, or it is damaged ({error})") from error
    raise StateError(f"{path} holds a single array, not the named arrays of a state; write it with save(path)")
