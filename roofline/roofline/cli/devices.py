"""``roofline devices``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from roofline.cli.console import WrongUsage
from roofline.cli.inputs import devices_option
from roofline.cli.output import emit
from roofline.cli.parameters import Output, table_options
from roofline.machine.published import DeviceTable, PublishedDevice
from roofline.show.cases.roof_tables import devices_table


@click.command()
@click.argument("name", required=False)
@table_options
@devices_option
def devices(name: str | None, output: Output, devices: DeviceTable) -> None:
    """Show what vendors publish of each device, or of those called NAME: peak per precision, bandwidth, source.

    All figures are dense. NAME may be part of a name; case, spaces and "NVIDIA" make no difference. Cases are judged by
    the row with exactly their device's name.
    """
    emit([devices_table(devices.devices if name is None else _called(devices, name))], output)


def _called(table: DeviceTable, name: str) -> Sequence[PublishedDevice]:
    """The device of exactly this name, else all whose names contain it."""
    exact = table.find(name)
    if exact is not None:
        return (exact,)
    found = table.containing(name)
    if found and name.strip():
        return found
    near = table.nearest(name)
    hint = f"Near it: {', '.join(near)}." if near else "`roofline devices` lists the names."
    raise WrongUsage(f"no published figures for {name!r}. {hint} Add a device with --devices FILE.")
