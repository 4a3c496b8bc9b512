"""``roofline doctor``: what this machine lets be measured, and what would help where it doesn't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from pytest_roofline.device.system import System
from roofline.cli.output import emit
from roofline.cli.parameters import Command, Output, table_options
from roofline.show.tables import Table, words


def _path_of(tool: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{tool}-path",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help=f"Where {tool} is. Default: ROOFLINE_{tool.upper()}, else on PATH or where it is usually installed.",
    )


@click.command()
@_path_of("ncu")
@_path_of("nsys")
@_path_of("perf")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder that results would go to: is there room?",
)
@table_options
def doctor(
    ncu_path: Path | None,
    nsys_path: Path | None,
    perf_path: Path | None,
    results: Path,
    output: Output,
) -> None:
    """Look at this machine: torch and devices, driver, profilers and their permissions, CPUs, disk.

    Each line is ok, a warning, no, or not reported; what helps stands below. Nothing is judged: the exit code is 0.
    """
    from pytest_roofline.profilers.doctor_checks import checks

    found = [*checks(System.here(), {"ncu": ncu_path, "nsys": nsys_path, "perf": perf_path}, results)]
    display = [words("what"), words("state", dtype="category"), replace(words("why"), fill=True)]
    table = Table(
        title="Doctor",
        columns=[*display, words("remedy")],
        display=display,
        rows=[check.row for check in found],
        notes=[f"{check.name}: {check.remedy}" for check in found if check.remedy],
    )
    emit([table], output)
