"""All checks that need a GPU, within one time limit: ``benchmarks/gpu_check.sh`` starts this.

Writes into the folder given, as each part ends, so that nothing of it is lost at the limit; five files at most:

- ``gpu_check.json``: what was found, and which parts ran for how long, and what was left out and why;
- ``speed.json``, ``counters.json``: result files of the suite, for the ``roofline`` program;
- ``unit_bf16.csv``: what ncu itself wrote for one matrix product of known size;
- ``log.txt``: what the runs printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roofline.counted_kernels import counted_kernels
from roofline.reader import ReadError, ResultFile, read_file
from roofline.reconciliation import reconcile
from roofline.record import Record, Roof
from roofline.record_json import without_nonfinite
from roofline.roofs import Roofs

_ROOT = Path(__file__).parents[1]

LIMIT_S = 450.0
"""Of all parts together; what is left of 8 minutes is for Python's start and for writing."""

GRACE_S = 15.0
"""For a run to write what it has, once it is interrupted; of its own share."""

UNIT_S = 40.0
"""At most for the product of known size."""

_RESULTS = "results"
"""One folder for all parts while they run: those after the first take its roofs over."""

_LOG = "log.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a part of the check measures.

    :param arguments: pytest's.
    :param most_s: at most, of the time that is left, with what it takes to write.
    :param least_s: with less time left it isn't begun.
    :param cases: by their ids, those that matter most first: what of them is not reached is told.
    """

    name: str
    arguments: Sequence[str]
    most_s: float
    least_s: float = 0.0
    cases: tuple[str, ...] = ()


_MODELS = "perftests/test_models.py"

_COUNTED = ("resnet50", "bert_base", "mobilenet_v2")

_COUNTED_PRECISIONS = ("amp_bf16", "tf32", "fp32", "amp_fp16")


def counted_cases() -> tuple[str, ...]:
    """The cases under ncu: training, then every model in one precision before any has a second."""
    inference = [f"{model}-infer-b8-{precision}" for precision in _COUNTED_PRECISIONS for model in _COUNTED]
    return ("resnet50-train-b32-amp_bf16", *inference)


def parts(device: str, *, quick: bool) -> tuple[Part, ...]:
    """The runs of the suite. ``quick`` only shows that they run: small models, few steps.

    The throughput comes first. With the shares of `UNIT_S` and of all parts the check ends in `LIMIT_S`. A case under
    ncu takes two processes, which hold it about 10 s each; a precision has one more process.
    """
    common = ("--device", device, "--label", "gpu-check", "-q")
    if quick:
        small = (*common, "--max-time", "0.05", "--warmup", "1", "--precision", "fp32")
        cases = ("cnn-train-b2-fp32", "mlp-infer-b2-fp32", "cnn-infer-b2-fp32")
        return (
            Part(
                name="speed",
                arguments=(_MODELS, *small, "--batch", "2", "--model", "mlp", "--mode", "train"),
                most_s=150.0,
            ),
            Part(
                name="counters",
                arguments=(
                    *(*map(_node, cases), *small, "--batch", "2", "--model", "mlp,cnn"),
                    *("--mode", "train,infer", "--ncu"),
                ),
                most_s=260.0,
                cases=cases,
            ),
        )
    counted = counted_cases()
    return (
        Part(
            name="speed",
            arguments=(
                *("perftests/test_roofs.py", _MODELS, *common, "--model", "resnet50", "--mode", "train"),
                *("--batch", "32,64,128,256", "--precision", "amp_bf16,torch_default", "--max-time", "1"),
            ),
            most_s=120.0,
        ),
        Part(
            name="counters",
            arguments=(
                *(*map(_node, counted), *common, "--model", ",".join(_COUNTED), "--mode", "train,infer"),
                *("--batch", "8,32", "--precision", ",".join(_COUNTED_PRECISIONS), "--max-time", "0.3"),
                *("--ncu", "--ncu-timeout", "45"),
            ),
            most_s=LIMIT_S,
            least_s=60.0,
            cases=counted,
        ),
    )


def _node(case: str) -> str:
    """The name by which pytest is to run a case, in the order of its command line."""
    return f"{_MODELS}::test_{'train' if '-train-' in case else 'infer'}[{case}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a part ended: ``code`` is the process's; None: it was interrupted at its limit."""

    seconds: float
    code: int | None


def run(part: Part, out: Path, limit_s: float) -> Ran:
    """Run a part, interrupt it so that it has written what it has at the limit, and put its result file beside the log.

    :param limit_s: `GRACE_S` before it the run is interrupted, and at it ended.
    """
    began = time.monotonic()
    kept = out / _RESULTS
    before = set(kept.rglob("*.json"))
    command = [*_pytest(), *part.arguments, "--results", str(kept)]
    with (out / _LOG).open("a", encoding="utf-8") as log:
        log.write(f"== {part.name}\n")
        log.flush()
        process = subprocess.Popen(command, cwd=_ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        code: int | None = None
        try:
            code = process.wait(max(1.0, limit_s - GRACE_S))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    for file in set(kept.rglob("*.json")) - before:
        shutil.copy(file, out / f"{part.name}.json")
    return Ran(seconds=time.monotonic() - began, code=code)


def _pytest() -> list[str]:
    """pytest with the plugin, which has to be named where nothing is installed, and mustn't be where it is.

    A warning that only a GPU gives rise to is printed, and fails no case.
    """
    installed = any(entry.value == _PLUGIN for entry in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", _PLUGIN)
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "default", *plugin]


_PLUGIN = "pytest_roofline.plugin"


def machine() -> dict[str, Any]:
    """The programs' versions, and what the driver's tool says."""
    import torch

    asked = "name,driver_version,memory.total,power.limit,clocks.sm,clocks.max.sm,compute_cap"
    try:
        answer = subprocess.run(
            ["nvidia-smi", f"--query-gpu={asked}", "--format=csv"], capture_output=True, text=True, check=False
        ).stdout.splitlines()
    except OSError:
        answer = []
    return {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nvidia_smi": answer,
    }


def preflight() -> list[dict[str, Any]]:
    """Which profilers are usable here, and why not."""
    from pytest_roofline.profilers.preflight import check_all, check_permission
    from pytest_roofline.profilers.system import System
    from pytest_roofline.run import without_folders

    system = System.here()
    return [
        {"tool": one.tool, "version": one.version, "status": one.status, "reason": without_folders(one.reason)}
        for one in (check_permission(system), *check_all(system))
    ]


def unit(device: str, out: Path, limit_s: float) -> dict[str, Any]:
    """One product of known size under ncu, with ncu's own file kept."""
    import torch

    from pytest_roofline.profilers import ncu_check, ncu_counters, ncu_pass
    from pytest_roofline.profilers.ncu_order import Answer
    from pytest_roofline.profilers.ncu_run import Ncu, NotCounted
    from pytest_roofline.profilers.system import System
    from pytest_roofline.run import without_folders
    from roofline.ncu_metrics import byte_metrics, flop_metrics

    system = System.here()
    finding = ncu_pass.preflight(device.partition(":")[0], system, None)
    if not finding.usable or finding.path is None:
        return {"status": finding.status, "reason": without_folders(finding.reason)}
    capability = ".".join(map(str, torch.cuda.get_device_capability(device)))
    ncu = Ncu(path=finding.path, version=finding.version, system=system, compute_capability=capability)
    with TemporaryDirectory() as folder:
        log = Path(folder, "unit_bf16.csv")
        ran = ncu.run(
            (sys.executable, "-m", ncu_check.__name__, "bf16", device),
            (*byte_metrics(capability), *flop_metrics(capability, True)),
            log=log,
            variables={},
            limit_s=limit_s,
        )
        if log.exists():
            shutil.copy(log, out)
        try:
            ran.refuse(Answer(problem=None) if ran.ended.code == 0 else None)
            counters = ncu_counters.of_flops(log, ncu.source)
        except NotCounted as refusal:
            return {"status": refusal.status, "reason": without_folders(refusal.reason)}
    ratio = None if counters.flop is None else counters.flop / ncu_check.FLOP
    return {"status": counters.status, "reason": counters.reason, "ratio": ratio, "passes": counters.passes}


def figures_of(result: ResultFile) -> dict[str, Any]:
    """What a result file says: roofs, throughput, and the counters against what was counted."""
    roofs = result.session.roofs if result.session is not None else ()
    lacking = result.session.not_measured if result.session is not None else ()
    records = [benchmark.record for benchmark in result.benchmarks if benchmark.record is not None]
    return {
        "roofs": [{"kind": roof.kind, "name": roof.name, "value": roof.value, "spread": roof.spread} for roof in roofs],
        "not_measured": [asdict(one) for one in lacking],
        "cases": [case(record, roofs) for record in records if record.case.mode in ("train", "infer")],
    }


def case(record: Record, roofs: Sequence[Roof]) -> dict[str, Any]:
    """One row: its rate, and of its counters what there is."""
    timing, counters, work = record.timing, record.counters, record.work
    rows = reconcile(record, counted_kernels(record, Roofs(roofs=tuple(roofs))))
    counted: Mapping[str, Any] = {} if counters is None else asdict(counters)
    return {
        "id": record.case.id,
        "valid": record.valid,
        "flags": [asdict(flag) for flag in record.flags],
        "samples_per_s": None if timing is None else record.case.samples_per_step / timing.step_time_s,
        "margin": None if timing is None else timing.margin,
        "flop_per_step": None if work is None else work.flop_per_step,
        "byte_range_per_step": None if work is None else [work.byte_low_per_step, work.byte_high_per_step],
        "counters": {name: value for name, value in counted.items() if name != "kernels"},
        "reconciled": [{**asdict(row), "ratio": row.ratio, "standing": row.standing} for row in rows],
    }


def not_reached(part: Part, ran: Ran, figures: Mapping[str, Any]) -> dict[str, str]:
    """The cases that a part was to have and doesn't have, with the reason."""
    had = {case["id"] for case in figures["cases"]}
    why = f"interrupted after {ran.seconds:.0f} s" if ran.code is None else f"the run ended with {ran.code}, see {_LOG}"
    return {case: why for case in part.cases if case not in had}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/gpu_check.sh", description="All checks that need a GPU.")
    parser.add_argument("--out", type=Path, default=Path("gpu_check"), help="folder for the files")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N; cpu shows that it runs")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help=f"seconds in all; default {LIMIT_S:g}")
    parser.add_argument("--quick", action="store_true", help="small models and few steps, to see that it runs")
    options = parser.parse_args(arguments)
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    return check(out, options.device, options.limit, quick=options.quick)


def check(out: Path, device: str, limit_s: float, *, quick: bool, clock: Callable[[], float] = time.monotonic) -> int:
    """Run all parts. Exit status 0: each ended by itself and measured something."""
    end = clock() + limit_s
    found: dict[str, Any] = {"device": device, "quick": quick, "machine": machine(), "parts": {}}

    def keep(name: str, value: object) -> None:
        found[name] = value
        text = json.dumps(without_nonfinite(found), indent=1, default=str)
        (out / "gpu_check.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: done, {end - clock():.0f} s left", flush=True)

    keep("preflight", preflight())
    for name in (_LOG, *(f"{part.name}.json" for part in parts(device, quick=quick))):
        (out / name).unlink(missing_ok=True)
    keep("unit", unit(device, out, min(UNIT_S, limit_s)))
    good = True
    for part in parts(device, quick=quick):
        left_s = end - clock()
        if left_s < part.least_s:
            found["parts"][part.name] = {
                "left_out": f"{left_s:.0f} s were left, and it takes {part.least_s:g} s at least"
            }
            keep(part.name, None)
            good = False
            continue
        ran = run(part, out, min(part.most_s, left_s))
        found["parts"][part.name] = asdict(ran)
        try:
            figures = figures_of(read_file(out / f"{part.name}.json"))
            if why := not_reached(part, ran, figures):
                found["parts"][part.name]["left_out"] = why
            keep(part.name, figures)
        except ReadError as error:
            keep(part.name, {"unreadable": str(error)})
            good = False
        good &= ran.code == 0
    shutil.rmtree(out / _RESULTS, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
