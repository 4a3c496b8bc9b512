"""The plugin's own settings, and the frozen values a run works with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pytest_roofline.device import selection
from pytest_roofline.settings import Setting, choice, number, plain, truth, whole

Counters = Literal["wanted", "require"]

PROTOCOLS = ("adaptive", "window", "steps")


def _label(text: str) -> str:
    """A machine's label: it is a folder's name, too."""
    label = plain(text)
    if label in (".", "..") or len(label) > 100 or not label.isprintable() or any(mark in label for mark in "/\\:"):
        raise ValueError("use a name of at most 100 printable characters without slashes or colons")
    return label


def _path(text: str) -> Path:
    try:
        return Path(plain(text)).expanduser()
    except RuntimeError as error:
        raise ValueError(f"use a path ({error})") from error


def _counters(text: str) -> Counters | None:
    """``true``, ``require`` or ``false``."""
    if text == "require":
        return "require"
    if text.lower() not in ("true", "false"):
        raise ValueError(
            "write =require behind the flag, or put the flag behind the paths, for it takes the word that follows it"
        )
    return "wanted" if text.lower() == "true" else None


_SHARD = re.compile(r"\s*([1-9][0-9]{0,3})/([1-9][0-9]{0,3})\s*")


def _shard(text: str) -> tuple[int, int]:
    found = _SHARD.fullmatch(text)
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError("use I/N, such as 1/4: part I of N, counted from 1")
    return int(found[1]), int(found[2])


def _resumed(text: str) -> Path | Literal["newest"]:
    if text == "true":
        return "newest"
    path = _path(text)
    if path.is_dir():
        raise ValueError("it is a folder; put the flag behind the paths, for it takes the word that follows it")
    return path


def _shell_words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"use options as in a shell ({error})") from error


_NOTE = re.compile(r"([A-Za-z][\w-]*)=(.*\S.*)", re.ASCII)


def _notes(text: str) -> dict[str, str]:
    """``KEY=VALUE``, one a line."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        note = _NOTE.fullmatch(line)
        if note is None:
            raise ValueError(f"{line!r} is no KEY=VALUE: a KEY is a letter, then letters, digits, _ and -")
        if note[1] in found:
            raise ValueError(f"{note[1]} is given twice")
        found[note[1]] = note[2].strip()
    return found


def _setting(**given: Any) -> Any:
    """Make a field of `Options`; what is given is the `Setting`'s."""
    return field(metadata=given)


def _switch(text: str) -> Any:
    return field(metadata={"parse": truth, "default": False, "switch": True, "help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values that a run works with, each with the setting that it is of."""

    device: selection.Wanted = _setting(
        metavar="DEVICE",
        parse=selection.parse,
        default=selection.Wanted(None),
        help="Device to measure: auto (the best one present), cpu, cuda, cuda:N or mps. Default: auto.",
    )
    protocol: str = _setting(
        metavar="NAME",
        parse=choice(*PROTOCOLS),
        default="adaptive",
        help="adaptive: warm up until steady, then rounds until the margin or the budget is reached (default). "
        "window: 10 warm-up steps and one window of 100, repeated. "
        "steps: 100 steps, each synchronised and logged to a CSV.",
    )
    warmup: int | None = _setting(
        metavar="STEPS",
        parse=whole(0),
        help="Warm-up steps. Default: until steady (adaptive), 10 (window, steps).",
    )
    steps: int | None = _setting(
        metavar="STEPS",
        parse=whole(1),
        help="Measured steps: per round (adaptive), per window, or in all (steps). Default: chosen (adaptive), 100.",
    )
    repeats: int = _setting(
        metavar="N",
        parse=whole(1),
        default=1,
        help="Measure each case N times, each with its own warm-up; mean and deviation are of the repeats.",
    )
    margin: float = _setting(
        metavar="FRACTION",
        parse=number(0, 1, hint=" (0.01 or 1%)"),
        default=0.01,
        help="Half width of the confidence interval to reach, relative to the step time: 0.01 or 1%%. Default: 1%%.",
    )
    confidence: float = _setting(
        metavar="FRACTION",
        parse=number(0.5, 1, hint=" (0.95 or 95%)"),
        default=0.95,
        help="Confidence of that interval. Default: 95%%.",
    )
    max_time: float = _setting(
        metavar="SECONDS",
        parse=number(0),
        default=10.0,
        help="Budget of timed rounds for a case (adaptive). Default: 10.",
    )
    case_timeout: float | None = _setting(
        metavar="SECONDS",
        parse=number(0),
        help="End the run, with what was measured, in a case whose test takes longer; --roofline-resume then "
        "leaves it out. With --roofline-isolate or pytest-xdist the run goes on. Default: none.",
    )
    isolate: bool = _switch(
        "Measure each case in a process of its own: one that dies or takes longer than "
        "--roofline-case-timeout is lost alone, and the next one runs. Each process has to start."
    )
    seed: int = _setting(
        metavar="N", parse=whole(0, 2**63 - 1), default=0, help="Seed of weights and data. Default: 0."
    )
    order: Literal["given", "random"] = _setting(
        metavar="ORDER",
        parse=choice("given", "random"),
        default="given",
        help="Order of the cases. random: shuffled by the seed and, in a set, the session's number, so that drift "
        "meets other cases each time. Default: given.",
    )
    shard: tuple[int, int] | None = _setting(
        metavar="I/N",
        parse=_shard,
        help="Measure the I-th of N parts of the cases, for jobs that share them: parts that should take equally long. "
        "Roofs are measured in each.",
    )
    shard_times: Path | None = _setting(
        metavar="PATH",
        parse=_path,
        help="Earlier results, a file or folder, by whose times --roofline-shard splits; all parts need the same ones. "
        "Default: all cases count alike.",
    )
    deterministic: bool = _switch("Allow only deterministic algorithms (torch.use_deterministic_algorithms).")
    cudnn_benchmark: bool = _switch(
        "Let cuDNN try its algorithms during warm-up and keep the fastest (torch.backends.cudnn.benchmark)."
    )
    compile: bool = _switch("Measure torch.compile(model). Compiling is timed apart from the steps.")
    nvtx: bool = _switch("Put an NVTX range named after the case around its rounds.")
    ncu: Counters | None = _setting(
        metavar="require",
        parse=_counters,
        bare=True,
        help="After each case run its step once more under Nsight Compute, for FLOPs and bytes by hardware counters "
        "(CUDA). Where they can't be had the run goes on and says why; with =require it is refused.",
    )
    ncu_path: Path | None = _setting(
        metavar="FILE",
        parse=_path,
        help="The ncu to use. Default: ROOFLINE_NCU, that on PATH, or the newest in the usual folders.",
    )
    ncu_timeout: float = _setting(
        metavar="SECONDS",
        parse=number(0),
        default=300.0,
        help="Time limit of a case under ncu. Default: 300.",
    )
    perf_stat: bool = _switch(
        "After each case's timed rounds count events of its steps on the host's cores with perf stat (Linux): "
        "cycles, instructions, cache and branch misses."
    )
    perf_path: Path | None = _setting(
        metavar="FILE",
        parse=_path,
        help="The perf to use. Default: ROOFLINE_PERF, that on PATH, or the newest in the usual folders.",
    )
    label: str | None = _setting(
        metavar="TEXT",
        parse=_label,
        help="Name of this machine in results and plots; the host name is never stored. Default: the device's name.",
    )
    note: Mapping[str, str] = _setting(
        metavar="KEY=VALUE",
        parse=_notes,
        joined_by="\n",
        default=MappingProxyType({}),
        help="What else a reader should know of this run, such as zone=us-east1-b or image=debian-12: shown in env.md "
        "and as the column note_KEY. May be given several times; in the ini file one a line.",
    )
    results: Path | None = _setting(
        metavar="FOLDER",
        parse=_path,
        help="Write FOLDER/<machine label>/<UTC time>-<commit>.json. Without it only --benchmark-json writes results.",
    )
    resume: Path | Literal["newest"] | None = _setting(
        metavar="FILE",
        parse=_resumed,
        bare=True,
        help="Go on with a run that did not come to its end: measure what is left, into the same file. FILE is its "
        "JSON or journal, by default the newest of this machine in the results folder that no run writes. Cases, "
        "options, threads, machine, code and versions have to be the same.",
    )
    roofs: Literal["auto", "measure", "off"] = _setting(
        metavar="WHEN",
        parse=choice("auto", "measure", "off"),
        default="auto",
        variable="ROOFLINE_ROOFS",
        help="Roofs of this machine where no test of the run measures them. auto: those kept from an earlier run; "
        "where there are none, measure them after the cases, in at most a minute (default). measure: measure anew. "
        "off: measure none and take none from the cache; those in earlier results of the same folder count. "
        "Also by the environment variable ROOFLINE_ROOFS.",
    )
    no_progress: bool = _switch("Show no progress on a terminal while cases are measured.")
    report: bool = _switch("After the run make the tables, plots and CSVs of the results file, and print their paths.")
    assert_bounds: bool = _switch(
        "Fail a test after its measurement where its case is not bound as expected or doesn't reach a floor, by "
        "its markers expected_bound and the expected_bounds.toml beside the tests. Its row stays valid."
    )
    expected_bounds: Path | None = _setting(
        metavar="FILE",
        parse=_path,
        help="Another file of expectations for --roofline-assert-bounds.",
    )
    sessions: int = _setting(
        metavar="N",
        parse=whole(1, 1000),
        default=1,
        help="Repeat the whole run N times, each in a process of its own with a results file of its own. Default: 1.",
    )
    gate: Path | None = _setting(
        metavar="BASELINE",
        parse=_path,
        help="After the run let roofline check compare it with BASELINE, a results file or a folder of them: exit code "
        "1 if a case is slower, 4 if there is nothing to compare.",
    )
    gate_options: tuple[str, ...] = _setting(
        metavar="OPTIONS",
        parse=_shell_words,
        joined_by=" ",
        default=(),
        help="More options of roofline check for --roofline-gate, behind an equals sign: without it a single one is "
        "taken for pytest's: --roofline-gate-options='--least-effect 5%% --allow-removed'.",
    )


SETTINGS: tuple[Setting, ...] = tuple(Setting(name=one.name, **one.metadata) for one in fields(Options))


MARKERS: tuple[str, ...] = (
    "roofs: measures the machine's roofs.",
    "roofline(mode, precision, batch, sample_unit): what calls of the roofline fixture measure where they don't say.",
    "expected_bound(bound, min_fraction_of_roof, min_fraction_of_speed_of_light, device, precision): "
    "what bounds the case, and how near to its limits it comes at least.",
)
"""Registered in every project."""

GENERAL_MARKERS: tuple[str, ...] = (
    "cpu: runs on the CPU.",
    "cuda: runs on a CUDA device.",
    "mps: runs on an Apple GPU.",
    "train: measures training steps.",
    "infer: measures forward passes.",
    "input: measures the input pipeline.",
)
"""Registered where the ini option roofline_markers is true."""


_SHAPING = (
    *("protocol", "warmup", "steps", "repeats", "margin", "confidence", "max_time", "seed", "order"),
    *("deterministic", "cudnn_benchmark", "compile", "ncu", "perf_stat"),
)


def shaping(options: Options) -> dict[str, str]:
    """The settings on which a measurement depends beside its case and device, as texts."""
    return {name: str(getattr(options, name)) for name in _SHAPING if getattr(options, name) is not None}


def without_effect(options: Options, device: str) -> dict[str, str]:
    """Find the settings that change nothing in a run that measures: why, in words, by their names.

    :param device: kind of the device.
    """
    found = {}
    if device != "cuda":
        found["nvtx"] = f"NVTX ranges exist on CUDA only, and this run measures {device}"
        found["cudnn_benchmark"] = f"cuDNN runs on CUDA only, and this run measures {device}"
    if options.protocol != "adaptive":
        found |= dict.fromkeys(("margin", "max_time"), f"the protocol {options.protocol} takes a number of steps")
    if options.ncu is None:
        found |= dict.fromkeys(("ncu_path", "ncu_timeout"), "ncu was not asked for")
    if options.shard is None:
        found["shard_times"] = "no shard was asked for"
    if not options.perf_stat:
        found["perf_path"] = "perf stat was not asked for"
    if options.results is None:
        found["report"] = "there is no results file to report"
    if options.gate is None:
        found["gate_options"] = "no gate was asked for"
    return found
