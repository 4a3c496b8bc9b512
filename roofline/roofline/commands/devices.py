"""``roofline devices``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import device_table, devices_option
from roofline.commands.output import emit, table_options
from roofline.device_tables import devices_table
from roofline.tables import Format


@click.command()
@click.argument("name", required=False)
@table_options
@devices_option
def devices(
    name: str | None, form: Format | None, output: Path | None, width: int | None, devices: Path | None
) -> None:
    """Show what vendors publish of each device, or of the one called NAME: peak per precision, bandwidth, source.

    All figures are dense. NAME is matched exactly, apart from case, spaces and "NVIDIA".
    """
    table = device_table(devices)
    if name is not None:
        found = table.find(name)
        if found is None:
            raise click.UsageError(
                f"no published figures for {name!r}. `roofline devices` lists the names; add one with --devices FILE."
            )
        emit([devices_table([found])], form, output, width)
    else:
        emit([devices_table(table.devices)], form, output, width)
