"""``roofline complexity``. Loads torch only once it has something to count."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pytest_roofline.settings import whole
from pytest_roofline.workload.models import ModelSpec, UnknownModel
from pytest_roofline.workload.models.registry import ProjectError, registry_of
from pytest_roofline.workload.precision import PRECISIONS
from roofline.cli.console import tell
from roofline.cli.output import emit
from roofline.cli.parameters import OUTPUT_FOLDER, Output, table_options
from roofline.text.units import scaled

if TYPE_CHECKING:
    from pytest_roofline.complexity.summary import ModelNeeds

SUMMARY = "summary.json"


class _ManyCommand(click.Command):
    """Takes ``--model a b c`` as well as ``--model a --model b --model c`` and ``--model a,b,c``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_repeated(args, ("--model", "--batch"))))


def _repeated(args: list[str], options: tuple[str, ...]) -> Iterator[str]:
    """The arguments with an option's name before each of its values."""
    option: str | None = None
    fresh = False
    for argument in args:
        if argument in options:
            option, fresh = argument, True
            yield argument
        elif argument.startswith("-"):
            option = None
            yield argument
        else:
            if option is not None and not fresh:
                yield option
            fresh = False
            yield argument


_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def memory_byte(text: str) -> int:
    """Bytes of ``24GiB``, ``80 GB`` or ``16000000000``.

    :raises click.BadParameter: it is no size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]i?|Ki)?B?\s*", text)
    unit = (match[2] or "").replace("ki", "Ki") if match else ""
    byte = float(match[1]) * _UNITS[unit] if match else 0.0
    if not 1 <= byte < math.inf:
        raise click.BadParameter(
            f"{text!r} is no size of memory: use a number with a unit, such as 24GiB, 80GB or 512MiB"
        )
    return int(byte)


def _batches(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    batches: dict[int, None] = {}
    for text in _separated(values):
        try:
            batches[whole(1)(text)] = None
        except ValueError as error:
            raise click.BadParameter(f"{text!r} is no batch size: {error}") from error
    return tuple(batches)


def _separated(values: tuple[str, ...]) -> list[str]:
    return [text.strip() for value in values for text in value.split(",") if text.strip()]


@click.command(cls=_ManyCommand)
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="NAME...",
    help="torchvision's classification models, timm:NAME, hf:MODEL_TYPE, hf:PATH/config.json, and those of the "
    "registry that pyproject.toml in this folder names under [tool.roofline] models.",
)
@click.option(
    "--batch", "batches", multiple=True, default=("1",), show_default=True, metavar="SIZE...", callback=_batches
)
@click.option("--mode", type=click.Choice(("train", "infer")), default="train", show_default=True)
@click.option("--precision", type=click.Choice(tuple(PRECISIONS)), default="fp32", show_default=True)
@click.option(
    "--device-memory",
    callback=lambda _context, _parameter, text: None if text is None else memory_byte(text),
    metavar="SIZE",
    help="Say the largest batch predicted to fit: 24GiB, 80GB.",
)
@click.option(
    "--summaries",
    type=OUTPUT_FOLDER,
    help=f"Folder to write a text per model and {SUMMARY} to.",
)
@table_options
def complexity(
    models: tuple[str, ...],
    batches: tuple[int, ...],
    mode: Literal["train", "infer"],
    precision: str,
    device_memory: int | None,
    summaries: Path | None,
    output: Output,
) -> None:
    """Parameters, work and memory of models, before anything is measured.

    Counted on tensors that have shapes and no data: no batch takes memory, nothing is downloaded. A model or batch that
    can't be counted is named, and the exit code is 1; the others are shown. With none left it is a usage error.
    """
    if find_spec("torch") is None:
        raise click.UsageError("complexity needs torch, which is not installed: pip install torch")
    specs = _specs(_separated(models))
    started = time.perf_counter()
    needs, refused = [], []
    for spec in specs:
        one, reasons = _assess(spec, batches, mode, precision, device_memory)
        needs += [one] if one else []
        refused += reasons
    if not needs:
        raise click.UsageError("\n".join(refused))
    _show(needs, output, f"Counted in {scaled(time.perf_counter() - started, 's')} on fake tensors.")
    if summaries is not None:
        _write(summaries, needs)
    if refused:
        for reason in refused:
            tell(f"left out: {reason}")
        click.get_current_context().exit(1)


def _specs(names: list[str]) -> list[ModelSpec]:
    if not names:
        raise click.UsageError("--model names no model: give one or more, such as resnet50,vgg16")
    try:
        registry = registry_of(Path.cwd())
        return [registry.find(name) for name in dict.fromkeys(names)]
    except (UnknownModel, ProjectError) as error:
        raise click.UsageError(str(error)) from error


def _assess(
    spec: ModelSpec, batches: tuple[int, ...], mode: Literal["train", "infer"], precision: str, memory: int | None
) -> tuple[ModelNeeds | None, list[str]]:
    """Count what is shown of a model; also why some batches, or all of it, are not."""
    from pytest_roofline.complexity.assessment import Assessment, CannotAssess
    from pytest_roofline.complexity.summary import ModelNeeds

    steps, refused = [], []
    try:
        one = Assessment(spec, mode=mode, precision=PRECISIONS[precision])
        for batch in batches:
            try:
                steps.append(one.step(batch))
            except CannotAssess as error:
                refused.append(str(error))
        if not steps:
            return None, refused
        largest = None if memory is None else one.largest_batch(memory)
        forward = one.forward
    except CannotAssess as error:
        return None, [*refused, str(error)]
    needs = ModelNeeds(
        spec=spec,
        mode=mode,
        precision=precision,
        forward=forward,
        steps=tuple(steps),
        memory_byte=memory,
        largest_batch=largest,
    )
    return needs, refused


def _show(needs: list[ModelNeeds], output: Output, note: str) -> None:
    from pytest_roofline.complexity.summary import table

    notes = [note, "1 MAC = 2 FLOP; matrix products and convolutions."]
    if (memory := needs[0].memory_byte) is not None:
        notes.append(f"Fits: predicted peak at most {scaled(memory, 'B')}; libraries' own memory is not in it.")
    emit([table(needs, notes)], output)


def _write(folder: Path, needs: list[ModelNeeds]) -> None:
    from pytest_roofline.complexity.summary import document, page

    files = {f"{one.spec.name}.txt": page(one) for one in needs}
    files[SUMMARY] = json.dumps(document(needs), indent=2, allow_nan=False) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--summaries {folder}: can't be written ({error.strerror or error})") from error
    tell(f"wrote {', '.join(str(folder / name) for name in files)}")
