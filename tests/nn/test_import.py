"""``tv.nn`` and ``tv.optim`` are there without being loaded by ``import tensorviz``."""

from __future__ import annotations

import subprocess
import sys

import tensorviz as tv


def test_the_parts_are_loaded_at_their_first_use():
    code = (
        "import sys, tensorviz as tv\n"
        "def parts(): return sorted(m for m in sys.modules if m in ('tensorviz.nn', 'tensorviz.optim'))\n"
        "print(parts()); tv.nn.Linear; print(parts()); tv.optim.SGD; print(parts())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert found == ["[]", "['tensorviz.nn']", "['tensorviz.nn', 'tensorviz.optim']"]


def test_the_parts_are_listed_among_the_public_names():
    assert {"nn", "optim"} <= set(tv.__all__) & set(dir(tv))
