"""The ``roofline`` program: which commands there are. Each is loaded when it is called, so that ``--help`` is quick.

Other packages add commands through the entry-point group ``roofline.commands`` (name = "module:command"). With
`roofline.cli.output.emit` they show their tables as ours are shown.

Exit codes: 0 pass; 1 regression or violated expectation; 2 usage error; 3 cannot compare (nothing matched, another
machine, a changed workload, invalid or missing data). A file or folder to read that is missing or unreadable is missing
data (3), whichever command, argument or option names it, but for a model (2).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any

import click

from roofline.files.decoding import ReadError

GROUP = "roofline.commands"
_PACKAGE = "pytest-roofline"

_COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Prepare": {
        "doctor": ("", "What can be measured here: devices, profilers, permissions, CPUs."),
        "roofs": ("", "Measure this machine's roofs; show or forget those kept."),
        "complexity": ("", "FLOPs, parameters and memory of models, counted without a run."),
        "devices": ("devices:devices", "Published roofs per device and precision."),
    },
    "Read results": {
        "summary": ("read_results.result_tables:summary", "Each run: a row a case, and the roofs in use."),
        "points": ("read_results.result_tables:points", "Where each case stands on its roofline."),
        "metrics": ("read_results.result_tables:metrics", "Everything measured of each benchmark."),
        "ops": ("read_results.ops:ops", "Where a step's time goes, operation by operation."),
        "pairs": ("read_results.result_tables:pairs", "Cases that differ in one thing, such as precision."),
        "machines": ("read_results.result_tables:machines", "Machines side by side: the same workload on each."),
        "scaling": ("read_results.result_tables:scaling", "What more ranks give: throughput, efficiency."),
        "plot": ("read_results.plot_report:plot", "Roofline and throughput figures of each machine."),
        "report": ("read_results.plot_report:report", "Table, figures, CSVs and environment in one folder."),
        "env": ("read_results.result_tables:env", "The environment of each run as Markdown."),
        "recover": ("read_results.recover:recover", "Make the JSON of a run that was killed."),
        "store": ("read_results.store:store", "Very many results in one place, asked by SQL."),
    },
    "Compare and gate": {
        "compare": ("compare_and_gate.compare:compare", "Two sides: slower, faster, the same, inconclusive."),
        "check": ("compare_and_gate.check:check", "Gate results: 0 passed, 1 slower, 3 not comparable."),
        "lock": ("compare_and_gate.lock:command", "Write what good sessions reached as expected bounds."),
        "history": ("compare_and_gate.history:history", "Each case over time: changes with their commits, drift."),
        "sessions": ("compare_and_gate.sessions:sessions", "How far sessions of the same code scatter."),
        "ab": ("compare_and_gate.ab:ab", "Two revisions measured in turns on this machine."),
        "selftest": ("compare_and_gate.selftest:selftest", "Try the gate of `ab`: unchanged code, a slowdown."),
    },
    "Read profilers' files": {
        "ncu": ("profiler_files:ncu", "Nsight Compute: FLOP, bytes and time of each kernel."),
        "nsys": ("profiler_files:nsys", "Nsight Systems: kernels, copies, busy GPUs, DRAM."),
        "trace": ("profiler_files:trace", "torch.profiler: kernels, copies, busy GPUs, operators."),
    },
    "Audit": {
        "audit": ("audit:command", "Contradictions in results and published tables."),
    },
}
"""By group and name: where below `roofline.cli` a command is, and its line in ``--help`` (here: listing loads none).

The measuring side's own commands have a line and no place: they are entry points, and load torch.
"""

_LINES = {name: line for group in _COMMANDS.values() for name, (_, line) in group.items()}
_PLACES = {name: place for group in _COMMANDS.values() for name, (place, _) in group.items() if place}


class Commands(click.Group):
    """Loads a command when it is asked for by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        there = {*_PLACES, *_plugged_in()}
        return [*(name for name in _LINES if name in there), *sorted(there - set(_LINES))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _PLACES:
            module, _, attribute = _PLACES[cmd_name].partition(":")
            command = getattr(import_module(f"roofline.cli.{module}"), attribute)
        elif (entry := _plugged_in().get(cmd_name)) is not None:
            command = _load(entry)
        else:
            return None
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ReadError as error:
            from roofline.cli.console import NoData

            raise NoData.of(error) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] in known or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        near = get_close_matches(args[0], known)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Commands: {', '.join(known)}."
        raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names, plugged_in = self.list_commands(ctx), _plugged_in()
        width = max(map(len, names))
        groups = {heading: [name for name in names if name in group] for heading, group in _COMMANDS.items()}
        groups["From other packages"] = [name for name in names if name not in _LINES]
        for heading, group in groups.items():
            if group:
                with formatter.section(heading):
                    formatter.write_dl(
                        [(one.ljust(width), _LINES.get(one) or f"(from {_origin(plugged_in[one])})") for one in group]
                    )


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    try:
        click.echo(f"{_PACKAGE} {version(_PACKAGE)}")
    except PackageNotFoundError:
        click.echo(f"{_PACKAGE}, from source (not installed)")
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def program() -> None:
    """Read pytest-benchmark results and place every case on its machine's roofline."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. Bad input gives a message, never a traceback."""
    # None of a record's many small objects is garbage: to look often takes a tenth of the time.
    gc.set_threshold(1_000_000)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal of few letters gets escapes of the others.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = program.main(arguments, prog_name="roofline", standalone_mode=False)
    except click.Abort:
        click.echo("Aborted.", err=True)
        return 130
    except click.ClickException as error:
        from roofline.cli.console import tell_error

        tell_error(error)
        return error.exit_code
    except SystemExit:
        # The reader (head, less) has seen enough: click's answer to a broken pipe, and the only one for which it exits
        # by itself.
        _discard_output()
        return 0
    except OSError as error:
        # Without a name: most likely a full disk behind standard output.
        what = "standard output: can't be" if error.filename is None else f"{error.filename}: can't be read or"
        from roofline.cli.console import tell

        tell(f"Error: {what} written ({error.strerror or error}).")
        _discard_output()
        return 3
    return code if isinstance(code, int) else 0


def _discard_output() -> None:
    """Send what is still to be written nowhere: Python would fail on it once more at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plugged_in() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _origin(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else entry.dist.name


def _load(entry: EntryPoint) -> click.Command:
    try:
        command = entry.load()
    except (ImportError, AttributeError) as error:
        raise click.UsageError(
            f"the command {entry.name!r} of {_origin(entry)} can't be loaded ({error}). Install what it needs."
        ) from error
    if not isinstance(command, click.Command):
        raise click.UsageError(f"the command {entry.name!r} of {_origin(entry)} is no click command.")
    return command
