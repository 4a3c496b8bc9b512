"""``roofline roofs``: measure, show or forget the roofs that are kept of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import click

from pytest_roofline.device import cpus, selection
from pytest_roofline.device.instruments import instruments
from pytest_roofline.roofs import kernels as roofs
from pytest_roofline.roofs import required, stored
from roofline.cli.console import NoData, say
from roofline.cli.output import emit
from roofline.cli.parameters import Command, Output, table_options
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import percent, scaled

if TYPE_CHECKING:
    import torch

    from roofline.schema.session import Machine, Roof

_OTHERS = ("dram", "llc", "launch")
"""Measured beside the compute roofs; a CPU without a known cache has no llc."""


def _device_option(command: Command) -> Command:
    return click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps.")(command)


@click.group("roofs")
def command() -> None:
    """Measure this machine's roofs, show those that are kept for later runs, or forget them."""


@command.command()
@_device_option
@click.option(
    "--precision",
    "precisions",
    multiple=True,
    type=click.Choice(roofs.COMPUTE),
    help="Compute roof to measure; may be repeated. Default: all that the device has.",
)
@table_options
def measure(device: str, precisions: tuple[str, ...], output: Output) -> None:
    """Measure the roofs of compute, memory and launches, in about a minute at most, and keep them for later runs.

    Exit code: 0 measured and kept, 2 they can't be kept, 3 none could be measured.
    """
    chosen, machine = _machine(device)
    with _cache_errors():
        kept = stored.KeptRoofs.of(machine)
    measured = required.measure(
        (*(precisions or roofs.COMPUTE), *_OTHERS),
        required.Equipment(
            device=chosen,
            described=machine.device,
            instruments=instruments(chosen),
            clock=time.perf_counter,
            conditions=_conditions(chosen),
        ),
    )
    missing = [f"no {name}: {why}" for name, why in measured.missing.items()]
    if not measured.roofs:
        raise NoData("no roof could be measured.", *(f"  {line}" for line in missing))
    unkept, told = None, f"measured in {measured.seconds:.1f} s"
    try:
        kept.keep(measured.roofs)
        told += f", kept in {kept.path}"
    except stored.CacheError as error:
        unkept = click.UsageError(f"they are not kept for later runs: {error}")
    _show(machine, measured.roofs, [told, *missing], output)
    if unkept is not None:
        raise unkept


@command.command("show")
@_device_option
@table_options
def show_kept(device: str, output: Output) -> None:
    """Show the roofs that are kept of this machine, with their age, and which of them are doubtful."""
    _, machine = _machine(device)
    with _cache_errors():
        kept = stored.KeptRoofs.of(machine)
        found = kept.read()
    notes = [f"kept in {kept.path}"] if found else ["None are kept. `roofline roofs measure` measures them."]
    _show(machine, found, notes, output)


@command.command()
@_device_option
def forget(device: str) -> None:
    """Delete the roofs that are kept of this machine. The next run that needs them measures them anew."""
    _, machine = _machine(device)
    with _cache_errors():
        kept = stored.KeptRoofs.of(machine)
        there = kept.forget()
    say(f"Deleted {kept.path}." if there else "None were kept.")


def _machine(device: str) -> tuple[torch.device, Machine]:
    """The device, and the machine as a run that measures on it would describe it."""
    try:
        import torch

        from pytest_roofline.device.host import describe_machine

        chosen = selection.select(selection.parse(device))
    except (ValueError, selection.DeviceError) as error:
        raise click.UsageError(f"--device {device}: {error}") from error
    except ImportError as error:
        raise click.UsageError(f"measuring needs torch, which can't be imported: {error}") from error
    torch.set_num_threads(min(torch.get_num_threads(), cpus.effective_cpus()))
    return chosen, describe_machine(chosen, None)


@contextmanager
def _cache_errors() -> Iterator[None]:
    """Tell why the cache can't be used, as a usage error."""
    try:
        yield
    except stored.CacheError as error:
        raise click.UsageError(str(error)) from error


def _conditions(device: torch.device) -> Callable[[roofs.RoofPlan], AbstractContextManager[None]]:
    from pytest_roofline.options import SETTINGS, Options
    from pytest_roofline.workload.precision import PRECISIONS
    from pytest_roofline.workload.switches import conditions

    defaults = Options(**{setting.name: setting.default for setting in SETTINGS})
    return lambda plan: conditions(PRECISIONS[plan.precision], defaults, device, f"roof-{plan.name}")


def _show(machine: Machine, found: Sequence[Roof], notes: list[str], output: Output) -> None:
    doubtful = required.doubts(found, machine.device)
    display: list[Column[Roof]] = [
        words("roof", get="name", dtype="category"),
        number("reads", "value", lambda roof: scaled(roof.value, roof.unit)),
        number("spread", show=percent),
        words("kernel"),
        words("measured_at", "when (UTC)", dtype="datetime64[us, UTC]"),
    ]
    of_programs = [number("value"), words("unit", dtype="category")]
    table = Table(
        title=f"Roofs of {machine.device.name}",
        columns=[display[0], *of_programs, *display[1:], words("doubtful", get=lambda roof: doubtful.get(roof.name))],
        display=display,
        rows=found,
        notes=[
            *notes,
            *(f"doubtful, the next run measures it again: {name} ({why})" for name, why in doubtful.items()),
        ],
    )
    emit([table], output)
