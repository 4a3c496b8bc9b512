"""Who may import whom, and what everybody's pytest must not have to load."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ANALYSIS = ROOT / "roofline" / "roofline"
PLUGIN = ROOT / "plugin" / "pytest_roofline"

HEAVY = {"torch", "torchvision", "numpy", "pandas", "matplotlib", "scipy", "msgspec", "rich"}
MEASURING = {"torch", "torchvision", "pytest", "_pytest", "pytest_benchmark", "pytest_roofline", "perftests"}
SHARED_WITH_PLUGIN = {
    *(
        "schema",
        "results",
        "files",
        "text",
        "timing",
        "machine",
        "model",
        "counters",
        "show",
        "profilers",
        "comparison",
    ),
    *("expectations", "report", "ab", "cli"),
}
"""Folders of the analysis that the plugin may import. Nothing of them is loaded with the plugin's entry module."""


def loaded_by(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after ``code``."""
    report = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + report], capture_output=True, text=True, timeout=120, check=False
    )
    assert child.returncode == 0, child.stderr
    return set(json.loads(child.stdout.splitlines()[-1]))


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def imported(source: str, package: str = "") -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything that ``source`` imports, inside functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def imports_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Place (``file:line``) and absolute name of every import in a package."""
    for path in sorted(folder.rglob("*.py")):
        package = ".".join(path.relative_to(folder.parent).parent.parts)
        for line, name in imported(path.read_text(encoding="utf-8"), package):
            yield f"{path.relative_to(ROOT)}:{line}", name


def test_an_import_is_seen_wherever_it_stands() -> None:
    """The search finds plain, relative and late imports under their absolute names."""
    source = "import a.b as c\nfrom . import d\nfrom ..e import f\ndef late():\n    from g import h, i\n"
    assert [name for _, name in imported(source, "top.sub")] == ["a.b", "top.sub.d", "top.e.f", "g.h", "g.i"]


def test_plugin_entry_loads_nothing_heavy() -> None:
    """Every pytest of everybody who has this installed imports the entry module: it must stay light."""
    loaded = loaded_by("import pytest_roofline.plugin")
    assert "pytest_roofline.plugin" in loaded
    assert packages(loaded) & HEAVY == set()


def test_the_public_names_load_what_they_need() -> None:
    """``import roofline`` by itself loads nothing; asking for a name loads neither pandas nor
    matplotlib: only making a frame or a figure does."""
    assert packages(loaded_by("import roofline")) & HEAVY == set()
    assert "pandas" not in packages(loaded_by("import roofline; roofline.load"))
    assert packages(loaded_by("import roofline; roofline.plot.roofline")) & {"pandas", "matplotlib", "numpy"} == set()


def test_foreign_project_loads_nothing_heavy(tmp_path: Path) -> None:
    """A project that doesn't measure runs its tests without loading what measuring needs, the record included."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_foreign.py").write_text(
        "import sys\n"
        "def test_loaded(pytestconfig):\n"
        "    assert 'pytest_roofline.plugin' in sys.modules\n"
        "    assert 'roofline.schema.record' not in sys.modules\n"
        f"    assert {{name.partition('.')[0] for name in sys.modules}} & {HEAVY!r} == set()\n"
    )
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert child.returncode == 0, child.stdout + child.stderr
    assert "1 passed" in child.stdout


def test_analysis_runs_without_torch_and_pytest() -> None:
    """A machine that only reads results has neither: no module of the analysis loads them, however indirectly."""
    loaded = loaded_by(
        "import importlib, pkgutil, roofline\n"
        "for module in pkgutil.walk_packages(roofline.__path__, 'roofline.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
    )
    assert "roofline.schema.record" in loaded
    assert (
        packages(loaded) & {"torch", "torchvision", "pytest", "_pytest", "pytest_benchmark", "pytest_roofline"} == set()
    )


def test_analysis_never_imports_the_measuring_side() -> None:
    """Not even late, inside a function: results are the only border."""
    offenders = [f"{where} {name}" for where, name in imports_of(ANALYSIS) if name.partition(".")[0] in MEASURING]
    assert offenders == []


def _folder(name: str, package: str) -> str:
    """``model`` of ``roofline.model.points`` in ``roofline``; a module of a package's root is its own."""
    return name.removeprefix(f"{package}.").partition(".")[0]


@pytest.mark.parametrize(
    ("root", "package", "in_order"),
    [
        (ANALYSIS, "roofline", ["schema", "model", "cli"]),
        (ANALYSIS, "roofline.comparison", ["observations", "effects", "sides", "gate"]),
        (ANALYSIS, "roofline.cli", ["console", "parameters", "inputs", "output", "compare_and_gate", "read_results"]),
        (ANALYSIS, "roofline.show", ["tables", "columns", "step", "reasons"]),
        (ANALYSIS, "roofline.plots", ["style", "layout", "rooflines", "image_files"]),
        (ANALYSIS, "roofline.report.page", ["cells", "parts", "page_data", "page_files"]),
        (
            PLUGIN,
            "pytest_roofline",
            ["device", "options", "workload", "session", "profilers", "proof", "bench", "fixture", "plugin"],
        ),
    ],
    ids=["analysis", "comparison", "cli", "show", "plots", "page", "plugin"],
)
def test_imports_between_folders_run_one_way(root: Path, package: str, in_order: list[str]) -> None:
    """No folder imports one that, however indirectly, imports it: there is an order in which they can be read."""
    graph: dict[str, set[str]] = {}
    for path in sorted(root.parent.joinpath(*package.split(".")).rglob("*.py")):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for _, name in imported(path.read_text(encoding="utf-8"), module.rpartition(".")[0]):
            if name.startswith(f"{package}.") and _folder(name, package) != _folder(module, package):
                graph.setdefault(_folder(module, package), set()).add(_folder(name, package))
    order = list(TopologicalSorter(graph).static_order())
    places = [order.index(name) for name in in_order]
    assert places == sorted(places)


def test_no_two_modules_have_one_name() -> None:
    """A search for a module finds one, and so does a traceback's reader."""
    counted = Counter(path.name for root in (ANALYSIS, PLUGIN) for path in root.rglob("*.py"))
    assert [name for name, count in counted.items() if count > 1] == ["__init__.py"]


def test_plugin_takes_only_what_both_sides_share() -> None:
    """Figures and audits are the commands' business."""
    offenders = [
        f"{where} {name}"
        for where, name in imports_of(PLUGIN)
        if name.startswith("roofline.") and name.split(".")[1] not in SHARED_WITH_PLUGIN
    ]
    assert offenders == []


@pytest.mark.parametrize("folder", [PLUGIN, ANALYSIS], ids=["plugin", "analysis"])
def test_packages_never_import_this_repository(folder: Path) -> None:
    """The suite uses the packages; the packages are published without it."""
    offenders = [
        f"{where} {name}"
        for where, name in imports_of(folder)
        if name.partition(".")[0] in {"perftests", "conftest", "tests", "benchmarks"}
    ]
    assert offenders == []
