"""The golden files are what the code prints today: whoever changes a rule changes the browser's half too."""

from __future__ import annotations

import pytest

from views.golden import FOLDER, GOLDEN, printed


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_file_is_current(name: str) -> None:
    committed = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert committed == printed(name), "run: python tests/views/golden.py, and bring the browser's half in line"
