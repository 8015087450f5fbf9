"""The stepper that the README shows is the one that its first lines of code open, at the step that it names."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_code_of_the_readme_steps_to_the_sum_over_rows(show, tmp_path, request, scheme):
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert block is not None and "stepper-light.png" in README
    script = tmp_path / "pass.py"
    script.write_text(block[1], encoding="utf-8")
    trace = runpy.run_path(str(script))["trace"]
    trace.check()
    stepper = show(trace, color_scheme=scheme)
    status = stepper.get_by_role("status")
    step = next(i for i, s in enumerate(trace.steps) if s.kind == "unbroadcast")
    stepper.page.emulate_media(reduced_motion="reduce")
    for k in range(step):
        stepper.press("ArrowRight")
        expect(status).to_contain_text(f"{k + 2} of {len(trace.steps)}")
    expect(status).to_contain_text("summed over axis 0")
    if request.config.getoption("redraw"):
        stepper.screenshot(path=ROOT / ".github" / f"stepper-{scheme}.png")
