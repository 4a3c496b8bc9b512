"""Two sides on one command line, compared and not gated."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import TIMES
from tests.roofline.conftest import Run


@pytest.fixture
def base(tmp_path: Path) -> list[Path]:
    return sessions.side(tmp_path / "base", TIMES)


@pytest.fixture
def new(tmp_path: Path) -> list[Path]:
    return sessions.side(tmp_path / "new", {"resnet18": 0.01, "resnet50": 0.15, "vgg16": 0.2}, first=10)


def test_a_slower_case_is_shown_and_not_gated(run: Run, base: list[Path], new: list[Path]) -> None:
    """Exit code 0: it could compare."""
    code, out, err = run("compare", *base, "--with", *new)
    assert (code, err) == (0, "")
    assert out.startswith("2 of 3 cases compared: 1 slower, 1 inconclusive, 1 new\n")
    assert "+50." in out


def test_nothing_to_compare(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """Exit code 3; what there is is shown."""
    new = sessions.side(tmp_path / "new", {"vgg16": 0.1})
    code, out, err = run("compare", *base, "--with", *new)
    assert code == 3
    assert out.startswith("0 of 3 cases compared: 2 removed, 1 new\n")
    assert err == f"Error: no case of {base[0]} and 3 more could be compared with one of {new[0]} and 3 more\n"


@pytest.mark.parametrize("spelled", [("--with", ""), ("--with=",)])
def test_an_empty_name_is_not_the_current_folder(run: Run, base: list[Path], spelled: tuple[str, ...]) -> None:
    """As an unset variable gives it: wrong usage, whatever lies there."""
    code, _, err = run("compare", *base, *spelled)
    assert code == 2
    assert "an empty name is no path: give a file or a folder (is a variable unset?)." in err
    assert run("compare", "", "--with", *base)[0] == 2


def test_the_option_may_be_given_in_every_way(run: Run, base: list[Path], new: list[Path]) -> None:
    """Several paths after it, once for each path, before the arguments, with =, or folders."""
    folders = base[0].parent, new[0].parent
    ways = [
        ("compare", *base, "--with", *new),
        ("compare", *base, *(word for path in new for word in ("--with", path))),
        ("compare", f"--with={folders[1]}", *base),
        ("compare", "--with", folders[1], folders[0]),
        ("compare", "--confidence", "99%", folders[0], "--with", folders[1]),
        ("compare", "--with", folders[1], "--", folders[0]),
        ("compare", *base, f"--with={new[0]}", *new[1:]),
        ("check", *new, f"--baseline={base[0]}", *base[1:]),
        ("check", *new, f"--baseline={base[0]}", *base[1:3], "--baseline", base[3]),
        ("check", *new, "--baseline", *base),
        ("check", "--baseline", folders[0], *new),
    ]
    for way in ways:
        _, out, _ = run(*way, "--format", "csv") if "--" not in way else run(way[0], "--format", "csv", *way[1:])
        rows = {row["case"]: row for row in csv.DictReader(io.StringIO(out))}
        assert {name: (row["base_sessions"], row["new_sessions"]) for name, row in rows.items()} == {
            "resnet50-train-b32-fp32": ("4", "4"),
            "resnet18-train-b32-fp32": ("4", "4"),
            "vgg16-train-b32-fp32": ("0", "4"),
        }, way
