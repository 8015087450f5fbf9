"""VS Code and Colab, which no test can run: pages that keep the rules these two document for an output, with an output in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from browser.book import wait_until
from browser.steppers import at, broadcast

# The policy of the editor's notebook webview.
VS_CODE = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; font-src 'self' https:; connect-src https:; child-src https: data:"
)
# Both put an output's markup in place and then make its scripts anew, because markup that is put in place runs none.
PLACED = """const output = document.createElement("div");
document.body.append(output);
output.innerHTML = %s;
for (const old of output.querySelectorAll("script")) {
  const script = document.createElement("script");
  script.textContent = old.textContent;
  old.replaceWith(script);
}"""


def placed(path: Path, html: str, *, root: str = "", body: str = "", policy: str = "") -> Path:
    """A front end's page with one output."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    script = PLACED % json.dumps(html).replace("<", "\\u003c")
    path.write_text(f"<!doctype html><html {root}><meta charset='utf-8'>{meta}<title>output</title><body {body}><script>{script}</script>", "utf-8")
    return path


def steps(stepper: Locator, scheme: str) -> None:
    at(stepper, 7)
    stepper.get_by_role("button", name="Next step").click()
    at(stepper, 8)
    expect(stepper).to_have_attribute("data-scheme", scheme)


HOSTS = {
    "VS Code light": ({"body": 'class="vscode-light" data-vscode-theme-kind="vscode-light"', "policy": VS_CODE}, "light"),
    "VS Code dark": ({"body": 'class="vscode-dark" data-vscode-theme-kind="vscode-dark"', "policy": VS_CODE}, "dark"),
    "VS Code high contrast": ({"body": 'class="vscode-high-contrast" data-vscode-theme-kind="vscode-high-contrast"', "policy": VS_CODE}, "dark"),
    "Colab light": ({"root": 'theme="light"'}, "light"),
    "Colab dark": ({"root": 'theme="dark"'}, "dark"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_an_output_steps_in_its_hosts_colours_under_its_hosts_policy(open_page, tmp_path, host):
    page_of, scheme = HOSTS[host]
    html = broadcast().show(step=7)._repr_mimebundle_()[0]["text/html"]
    other = "light" if scheme == "dark" else "dark"  # of the system, which the host overrules
    page = open_page(placed(tmp_path / "output.html", html, **page_of), color_scheme=other)
    frame = page.locator("iframe")
    stepper = frame.content_frame.get_by_role("region", name="Backward pass debugger")
    steps(stepper, scheme)
    wait_until(lambda: abs(frame.bounding_box()["height"] - stepper.bounding_box()["height"]) < 30, "a frame as high as the stepper", 45)
    expect(page.get_by_text("Trust this notebook")).to_be_hidden()


def test_an_output_of_colab_stands_in_a_frame_of_its_own_and_follows_it(open_page, tmp_path):
    html = broadcast().show(step=7)._repr_mimebundle_()[0]["text/html"]
    inner = placed(tmp_path / "output.html", html, root='theme="dark"')
    (tmp_path / "colab.html").write_text(
        f"<!doctype html><title>Colab</title><iframe src='{inner.name}' sandbox='allow-scripts' width=1000 height=800></iframe>", "utf-8"
    )
    page = open_page(tmp_path / "colab.html")
    inside = page.locator("iframe").content_frame.locator("iframe").content_frame
    steps(inside.get_by_role("region", name="Backward pass debugger"), "dark")
