"""``roofline audit``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.audits import RULES, SUFFIXES, audit, on_devices, read
from roofline.audits.findings import findings_table, rules_table
from roofline.cli.console import NoData, tell
from roofline.cli.inputs import INPUT, devices_option
from roofline.cli.output import emit
from roofline.cli.parameters import Number, Output, table_options, verbose_option
from roofline.machine.published import DeviceTable

_NAMING = (
    "A name says what is meant and in which unit: images_per_s, step_time_ms, attained_gflop_per_s, gflop_per_image."
)

_NAMES = tuple(rule.name for rule in RULES)


@click.command(name="audit")
@click.argument("files", nargs=-1, type=INPUT)
@table_options
@verbose_option
@click.option(
    "--tolerance",
    "tolerances",
    multiple=True,
    metavar="[RULE=]SHARE",
    help="Relative difference up to which figures agree, 0.03 for 3 %: of one rule, or of all that have one.",
)
@click.option(
    "--rule",
    "chosen",
    multiple=True,
    metavar="RULE",
    type=click.Choice(_NAMES),
    help="Apply this rule alone, or those given so.",
)
@click.option(
    "--device",
    "named",
    multiple=True,
    metavar="[WORD=]NAME",
    help="NAME in `roofline devices` of what a table calls WORD, or of rows without a device.",
)
@devices_option
@click.option("--rules", is_flag=True, help="Show the rules, and look at no file.")
@click.pass_context
def command(
    context: click.Context,
    files: tuple[Path, ...],
    output: Output,
    verbose: bool,
    tolerances: tuple[str, ...],
    chosen: tuple[str, ...],
    named: tuple[str, ...],
    devices: DeviceTable,
    rules: bool,
) -> None:
    """Look for contradictions in FILES: results of pytest-benchmark, timm's benchmark tables, tables of your own.

    Of a folder, its *.json and *.csv files are read, those in folders below it too; what else lies there is named and
    left out.

    Exit code: 0 nothing found, 1 contradictions found, 3 nothing to read, rules that found nothing to look at, or,
    whatever was found in the others, a named file that can't be read.
    """
    if rules:
        emit([rules_table(RULES)], output)
        return
    if not files:
        raise click.UsageError("Missing argument 'FILES...'.")
    own_tolerances = _tolerances(tolerances)
    names, otherwise = _devices(named, devices)
    reading = read(files, devices)
    for reason in reading.skipped:
        tell(f"skipped {reason}")
    for path, file in reading.files.items():
        if file.incomplete is not None:
            tell(f"{path}: {file.incomplete}")
        for reason in file.left_out:
            tell(f"left out, the rest of the file is used: {reason}")
        if file.unknown:
            tell(f"{path}: columns left out, for no rule knows them: {', '.join(file.unknown)}. {_NAMING}")
    applied = tuple(rule for rule in RULES if not chosen or rule.name in chosen)
    found = audit(on_devices(reading.rows, names, otherwise), devices, own_tolerances, applied)
    if reading.rows:
        emit([findings_table(found, verbose=verbose or output.is_data)], output)
    if reading.refused:
        raise NoData(*(line for refused in reading.refused for line in refused.splitlines()))
    if not reading.rows:
        endings = f"{', '.join(SUFFIXES[:-1])} and {SUFFIXES[-1]}"
        raise NoData(f"{', '.join(map(str, files))}: nothing to read; looked for {endings} files.")
    if not found.examined:
        raise NoData("no rule had anything to look at: the files state too little to contradict themselves.")
    context.exit(1 if found.contradicted else 0)


def _tolerances(given: tuple[str, ...]) -> dict[str, float]:
    """:raises click.UsageError: an unknown rule, one without a tolerance, or no share from 0 to below 1."""
    settable = {rule.name for rule in RULES if rule.tolerance is not None}
    tolerances: dict[str, float] = {}
    for one in given:
        name, equals, text = one.rpartition("=")
        if equals and name not in settable:
            raise click.UsageError(
                f"--tolerance {one}: {name!r} is no rule with a tolerance; those are {', '.join(sorted(settable))}."
            )
        try:
            share = Number("share", 0, 1, max_open=True).convert(text, None, None)
        except click.BadParameter as error:
            raise click.UsageError(f"--tolerance {one}: {error.message}") from error
        tolerances |= {name: share} if equals else dict.fromkeys(settable, share)
    return tolerances


def _devices(given: tuple[str, ...], table: DeviceTable) -> tuple[dict[str, str], str | None]:
    """:raises click.UsageError: a device that is not in the table of published roofs."""
    names: dict[str, str] = {}
    otherwise: str | None = None
    for one in given:
        word, equals, name = one.rpartition("=")
        if table.find(name) is None:
            raise click.UsageError(
                f"--device {one}: no published figures for {name!r}. `roofline devices` lists the names; add one with"
                " --devices FILE."
            )
        if equals:
            names[word] = name
        else:
            otherwise = name
    return names, otherwise
