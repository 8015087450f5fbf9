"""A Jupyter server of its own, a page under watch, and one object that stands for an open notebook. Knows nothing of pytest."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import nbformat
from playwright.sync_api import BrowserContext, ConsoleMessage, FrameLocator, Locator, Page

App = Literal["lab", "notebook"]

STARTUP = 90.0
"""Seconds a server or a kernel may take on a busy machine with two cores before a test gives up."""

LEFT_ALONE = 1800
"""Seconds after which a server and its kernels end to which nobody talks; no test is silent for so long."""

HARMLESS = (
    # JupyterLab's own debugger panel, when a page is closed while it asks
    r"Could not restore the debugger state: Canceled future",
    # JupyterLite's kernel, which the site's tests bring, is an extension for JupyterLite; JupyterLab finds it installed and complains.
    r"Shared module @jupyterlite/\S+ doesn't exist",
    # Both front ends ask for optional things (a favicon, a workspace, custom settings) and report the 404.
    r"Failed to load resource: the server responded with a status of 404",
    # Notebook 7.6 loads its settings before one of its own plugins is registered.
    r"(?s)reading 'schema'.*notebook_core",
)


PAGE = {
    # The news panel asks the network, and would cover the page with a question.
    "disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True},
    # The search for extensions to build takes a second a page.
    "buildCheck": False,
}
"""Settings of the front ends' pages."""


def wait_until(ready: Callable[[], Any], what: str, timeout: float = STARTUP, pause: float = 0.05) -> Any:
    """Poll until ``ready`` returns something true, and return it. Playwright's own waiting takes a Promise for true."""
    end = time.monotonic() + timeout
    while True:
        if got := ready():
            return got
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {timeout:.0f} s")
        time.sleep(pause)


# ---- the server ----------------------------------------------------------------------------------------------------


@dataclass
class Server:
    """A JupyterLab or Notebook 7 of its own: own port, token, settings and trust database."""

    app: App
    home: Path
    process: subprocess.Popen[bytes] | None = None
    base: str = ""
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def root(self) -> Path:
        """The folder that it serves."""
        return self.home / "root"

    @property
    def environment(self) -> dict[str, str]:
        """What keeps it, and commands run beside it, away from the settings of whoever runs the tests."""
        places = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        # Tensorviz and its layout keep a compiled module in the user's cache; that one is shared on purpose.
        return os.environ | {key: str(self.home / folder) for key, folder in places.items()}

    def start(self) -> Server:
        self.root.mkdir(parents=True, exist_ok=True)
        settings = self.home / "config" / "labconfig"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "page_config.json").write_text(json.dumps(PAGE))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        module, expose = {"lab": ("jupyterlab", "LabApp"), "notebook": ("notebook", "JupyterNotebookApp")}[self.app]
        command = [
            *(sys.executable, "-m", module, "--no-browser", "--allow-root"),
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            # Should the tests be killed, it ends by itself.
            f"--ServerApp.shutdown_no_activity_timeout={LEFT_ALONE}",
            *(f"--MappingKernelManager.cull_idle_timeout={LEFT_ALONE}", "--MappingKernelManager.cull_connected=True"),
            f"--IdentityProvider.token={self.token}",
            f"--{expose}.expose_app_in_browser=True",  # window.jupyterapp: commands instead of clicks on menus
        ]
        self.log = self.home / "server.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, cwd=self.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.base = f"http://127.0.0.1:{port}"
        wait_until(self._answers, f"the {self.app} server")
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"the {self.app} server ended with code {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
        try:
            with urllib.request.urlopen(f"{self.base}/api/status?token={self.token}", timeout=5):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def url(self, name: str) -> str:
        where = f"lab/tree/{name}?reset&" if self.app == "lab" else f"notebooks/{name}?"
        return f"{self.base}/{where}token={self.token}"

    def write(self, name: str, cells: Sequence[str]) -> Path:
        """A notebook of code cells in the served folder."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells], metadata={"kernelspec": kernel})
        path = self.root / name
        nbformat.write(book, path)
        return path

    def trust(self, name: str) -> None:
        """Sign a notebook, as a user's own machine would have done."""
        subprocess.run([sys.executable, "-m", "jupyter", "trust", str(self.root / name)], env=self.environment, check=True, capture_output=True)


# ---- a page under watch --------------------------------------------------------------------------------------------


class Watch:
    """Collects what a page complains about and whom it calls; ``verify`` demands that both are empty."""

    def __init__(self, page: Page, own: tuple[str, ...]) -> None:
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        self._harmless = [re.compile(p) for p in HARMLESS]
        self._own = (*own, "data:", "blob:", "about:")
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}  ({error.stack})"))
        page.on("request", lambda request: None if request.url.startswith(self._own) else self.foreign.append(request.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text}  ({message.location.get('url', '')})")

    def allow(self, *patterns: str) -> None:
        """Name complaints that are expected from here on, as when a kernel is killed on purpose."""
        self._harmless += [re.compile(p) for p in patterns]

    def verify(self) -> None:
        left = [c for c in self.complaints if not any(p.search(c) for p in self._harmless)]
        assert not left, "console errors:\n" + "\n".join(left)
        assert not self.foreign, f"requests to elsewhere: {self.foreign}"


READY = """async kernelWanted => {
  const app = window.jupyterapp;
  const panel = app?.shell.currentWidget;
  if (!panel?.sessionContext || !panel.content?.model) return false;
  await app.restored;
  await panel.context.ready;
  if (!app.commands.hasCommand('notebook:run-all-cells')) return false;
  if (!kernelWanted) return true;
  await panel.sessionContext.ready;
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) return false;
  await kernel.info;
  return kernel.connectionStatus === 'connected' && kernel.status === 'idle';
}"""

EXECUTE = """async code => {
  const request = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code});
  let text = '', failed = null;
  request.onIOPub = message => {
    if (message.header.msg_type === 'stream') text += message.content.text;
    if (message.header.msg_type === 'error') failed = message.content.ename + ': ' + message.content.evalue;
  };
  await request.done;
  return {text, failed};
}"""

WRITE = """sources => {
  const cells = window.jupyterapp.shell.currentWidget.content.model.sharedModel;
  const before = cells.cells.length;
  cells.insertCells(before, sources.map(source => ({cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null})));
  cells.deleteCellRange(0, before);
}"""

# What the front ends themselves say when a kernel goes away under them.
KERNEL_GONE = (r"WebSocket", r"Kernel", r"kernel", r"Failed to load resource", r"Canceled future", r"Connection lost", r"Server Connection Error")


class Book:
    """One notebook, open in a front end, driven through the application's own commands and read as a user would."""

    def __init__(self, server: Server, context: BrowserContext, page: Page, watch: Watch, name: str) -> None:
        self.server = server
        self.context = context
        self.page = page
        self.watch = watch
        self.name = name

    @property
    def path(self) -> Path:
        return self.server.root / self.name

    def wait_ready(self, kernel: bool = True) -> None:
        self.page.wait_for_function("() => window.jupyterapp !== undefined", timeout=STARTUP * 1000)
        wait_until(lambda: self.page.evaluate(READY, kernel), "an open notebook with an idle kernel" if kernel else "an open notebook")

    def command(self, name: str, **arguments: Any) -> None:
        self.page.evaluate("async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }", [name, arguments])

    def write(self, cells: Sequence[str]) -> None:
        """Put other cells in place of all that are there. The kernel keeps its names."""
        self.page.evaluate(WRITE, list(cells))

    def run_all(self) -> None:
        """Run every cell, and demand that none failed."""
        self.command("notebook:run-all-cells")
        failed = self.errors()
        assert not failed, "\n".join(failed)

    def run(self, index: int) -> None:
        """Run one cell."""
        self.page.evaluate("i => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", index)
        self.command("notebook:run-cell")

    def python(self, code: str) -> str:
        """Run code in the notebook's kernel without a cell; what it printed."""
        got = self.page.evaluate(EXECUTE, code)
        assert got["failed"] is None, got["failed"]
        return str(got["text"]).strip()

    def errors(self) -> list[str]:
        """The exceptions that stand in the outputs."""
        outputs = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap(c => c.model.outputs ? c.model.outputs.toJSON() : [])"
        )
        return [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]

    def cells(self) -> int:
        return int(self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length"))

    def cell(self, index: int) -> Locator:
        """A cell as the page shows it, scrolled into view: front ends draw only what is near the window."""
        show = "async i => { const b = window.jupyterapp.shell.currentWidget.content; await b.scrollToItem(i, 'start'); await b.widgets[i].ready; }"
        self.page.evaluate(show, index)
        return self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")

    def find_cell(self, text: str) -> int:
        """Index of the first code cell whose source holds ``text``."""
        sources = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.widgets.map(c => [c.model.type, c.model.sharedModel.getSource()])"
        )
        return next(i for i, (kind, source) in enumerate(sources) if kind == "code" and text in source)

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-OutputArea-output")

    def frame(self, index: int = 0, cell: int | None = None) -> FrameLocator:
        """The frame of a stepper: the ``index``-th of the page, or of one cell's outputs."""
        within = self.page if cell is None else self.output(cell)
        return within.locator("iframe").nth(index).content_frame

    def debugger(self, index: int = 0, cell: int | None = None) -> Locator:
        """The stepper by its accessible name, inside its frame."""
        return self.frame(index, cell).get_by_role("region", name="Backward pass debugger")

    def save(self) -> None:
        self.command("docmanager:save")
        wait_until(lambda: not self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.dirty"), "saving", 15)

    def reload(self, kernel: bool = True) -> None:
        self.watch.allow(*KERNEL_GONE)
        self.page.reload()
        self.wait_ready(kernel)

    def session(self, script: str) -> Any:
        """A statement on ``session``, the page's handle on the kernel."""
        return self.page.evaluate(f"async () => {{ const session = window.jupyterapp.shell.currentWidget.sessionContext; {script} }}")

    def restart_kernel(self) -> None:
        self.watch.allow(*KERNEL_GONE)
        self.session("await session.session.kernel.restart();")
        self.wait_ready()

    def start_kernel(self) -> None:
        """Have one, as by choosing it from the menu where there is none."""
        self.session("if (!session.session?.kernel) await session.changeKernel({ name: 'python3' });")
        self.wait_ready()

    def shut_kernel_down(self) -> None:
        """As with the menu: the kernel ends and does not come back."""
        self.watch.allow(*KERNEL_GONE)
        self.session("await session.shutdown();")

    def crash_kernel(self) -> None:
        """As when memory runs out: the kernel's process is killed from outside. Jupyter then starts a new, empty one."""
        self.watch.allow(*KERNEL_GONE)
        old = int(self.python("import os; print(os.getpid())"))
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: self._kernel_other_than(old), "a new kernel after the crash")
        # JupyterLab says so in a dialog over the page; a user reads it and goes on.
        notice = self.page.locator(".jp-Dialog .jp-mod-accept")
        if notice.count():
            notice.first.click()
            notice.first.wait_for(state="detached")

    def _kernel_other_than(self, old: int) -> bool:
        with suppress(Exception):  # the page's connection breaks and heals while the kernel changes
            return bool(self.page.evaluate(READY, True)) and int(self.python("import os; print(os.getpid())")) != old
        return False

    def close(self) -> None:
        with suppress(Exception):  # a notebook opened without a kernel has none to end
            self.session("await session.shutdown();")
        self.context.close()
