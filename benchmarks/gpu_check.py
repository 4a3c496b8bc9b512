"""All checks that need a GPU, within one time limit: ``benchmarks/gpu_check.sh`` starts this.

Writes into the folder given, as each part ends, so that nothing of it is lost at the limit; five files at most:

- ``gpu_check.json``: what was found, how far count and counters agree, which parts ran for how long, what was left out
  and why, and what is wrong;
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.gpu_figures import agreement, figures_of, in_words
from roofline.files.text import ReadError
from roofline.profilers.ncu.kernel_sums import read
from roofline.results.reader import read_file
from roofline.schema.record_json import without_nonfinite

_ROOT = Path(__file__).parents[1]

LIMIT_S = 450.0
"""Of all parts together; what is left of 8 minutes is for Python's start and for writing."""

GRACE_S = 15.0
"""For a run to write what it has, once it is interrupted; of its own share."""

UNIT_S = 40.0
"""At most for the product of known size, which is counted twice."""

SMI_S = 20.0
"""For the driver's tool to answer: one that meets a broken driver may never."""

_RESULTS = "results"
"""One folder for all parts while they run: those after the first take its roofs over."""

_LOG = "log.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the check.

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
    """The end of a part: ``code`` is the process's; None: it was interrupted at its limit."""

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

    from pytest_roofline.device.system import System

    asked = "name,driver_version,memory.total,power.limit,clocks.sm,clocks.max.sm,compute_cap"
    system = System.here()
    ended = system.run(
        ["nvidia-smi", f"--query-gpu={asked}", "--format=csv"], timeout_s=SMI_S, environment=system.environment
    )
    answer = [f"no answer within {SMI_S:g} s"] if ended.fault == "timeout" else ended.out.splitlines()
    return {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nvidia_smi": answer,
    }


def preflight() -> list[dict[str, Any]]:
    """List the profilers, and the reasons why some are not usable here."""
    from pytest_roofline.device.system import System
    from pytest_roofline.profilers.preflight import check_all, check_permission
    from pytest_roofline.session.run import without_folders

    system = System.here()
    return [
        {"tool": one.name, "version": one.version, "status": one.status, "reason": without_folders(one.reason)}
        for one in (check_permission(system), *check_all(system))
    ]


def unit(device: str, out: Path, limit_s: float) -> dict[str, Any]:
    """One product of known size under ncu, with ncu's own file kept; then once more without the tensor cores' counters,
    for the passes that take.
    """
    import torch

    from pytest_roofline.device.system import System
    from pytest_roofline.profilers.ncu import counters as ncu_counters
    from pytest_roofline.profilers.ncu import counting_pass as ncu_pass
    from pytest_roofline.profilers.ncu import unit_check as ncu_check
    from pytest_roofline.profilers.ncu.ncu_run import Ncu, NotCounted
    from pytest_roofline.profilers.ncu.order import Answer
    from pytest_roofline.session.run import without_folders
    from roofline.counters.quantities import byte_metrics, flop_metrics

    end = time.monotonic() + limit_s
    system = System.here()
    finding = ncu_pass.preflight(device.partition(":")[0], system, None)
    if not finding.usable or finding.path is None:
        return {"status": finding.status, "reason": without_folders(finding.reason)}
    capability = ".".join(map(str, torch.cuda.get_device_capability(device)))
    ncu = Ncu(path=finding.path, version=finding.version, system=system, compute_capability=capability)

    def count(log: Path, *, tensor: bool) -> None:
        """:raises NotCounted: ncu wrote down nothing."""
        ran = ncu.run(
            (sys.executable, "-m", ncu_check.__name__, "bf16", device),
            (*byte_metrics(capability), *flop_metrics(capability, tensor)),
            log=log,
            variables={},
            limit_s=max(0.0, end - time.monotonic()),
        )
        ran.refuse(Answer(problem=None) if ran.ended.code == 0 else None)

    with TemporaryDirectory() as folder:
        whole, lean = Path(folder, "unit_bf16.csv"), Path(folder, "lean.csv")
        try:
            count(whole, tensor=True)
            flop = ncu_counters.of_flops(whole)
        except NotCounted as refusal:
            return {"status": refusal.status, "reason": without_folders(refusal.reason)}
        finally:
            if whole.exists():
                shutil.copy(whole, out)
        found = {"status": "ok", "reason": None, "ratio": flop / ncu_check.FLOP, "passes": read(whole).passes}
        try:
            count(lean, tensor=False)
            return {**found, "passes_without_tensor": read(lean).passes}
        except (NotCounted, ReadError) as refusal:
            why = f"without the tensor cores: {refusal}"
            return {**found, "passes_without_tensor": None, "reason": without_folders(why)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The result of a part: its end, or why it wasn't begun; its figures, None: nothing; its problems."""

    how: Mapping[str, Any]
    figures: Mapping[str, Any] | None
    problems: tuple[str, ...]


def not_reached(part: Part, ran: Ran, figures: Mapping[str, Any]) -> dict[str, str]:
    """The cases that a part was to have and doesn't have, with the reason."""
    had = {case["id"] for case in figures["cases"]}
    return {case: _ended(ran) for case in part.cases if case not in had}


def _ended(ran: Ran) -> str:
    if ran.code is None:
        return f"interrupted after {ran.seconds:.0f} s"
    return f"the run ended with {ran.code}, see {_LOG}"


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
    """Run all parts. Exit status 0: each ended by itself and measured something; on a GPU counters were read, too."""
    end = clock() + limit_s
    found: dict[str, Any] = {"device": device, "quick": quick, "machine": machine(), "parts": {}}
    problems: list[str] = []

    def keep(name: str, value: object) -> None:
        found[name] = value
        text = json.dumps(without_nonfinite(found), indent=1, default=str)
        (out / "gpu_check.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: done, {end - clock():.0f} s left", flush=True)

    keep("preflight", preflight())
    for name in (_LOG, *(f"{part.name}.json" for part in parts(device, quick=quick))):
        (out / name).unlink(missing_ok=True)
    keep("unit", unit(device, out, min(UNIT_S, limit_s)))
    for part in parts(device, quick=quick):
        measured = _measured(part, out, end - clock())
        found["parts"][part.name] = measured.how
        problems += measured.problems
        keep(part.name, measured.figures)
    shutil.rmtree(out / _RESULTS, ignore_errors=True)
    cases = (found["counters"] or {}).get("cases", ())
    keep("agreement", agreement(cases, found["unit"]))
    if device.partition(":")[0] == "cuda":
        problems += _not_counted(found["unit"], found["agreement"])
    keep("problems", problems)
    print(in_words(found["agreement"]), *problems, sep="\n", flush=True)
    return 1 if problems else 0


def _measured(part: Part, out: Path, left_s: float) -> Measured:
    """Run a part, and read what it wrote."""
    if left_s < part.least_s:
        why = f"{left_s:.0f} s were left, and it takes {part.least_s:g} s at least"
        return Measured(how={"left_out": why}, figures=None, problems=(f"{part.name}: not begun: {why}",))
    ran = run(part, out, min(part.most_s, left_s))
    problems = [] if ran.code == 0 else [f"{part.name}: {_ended(ran)}"]
    try:
        figures = figures_of(read_file(out / f"{part.name}.json"))
    except ReadError as error:
        return Measured(
            how=asdict(ran), figures={"unreadable": str(error)}, problems=(*problems, f"{part.name}: {error}")
        )
    left_out = not_reached(part, ran, figures)
    how = {**asdict(ran), "left_out": left_out} if left_out else asdict(ran)
    return Measured(how=how, figures=figures, problems=tuple(problems))


def _not_counted(product: Mapping[str, Any], agreed: Mapping[str, Any]) -> Iterator[str]:
    """Say which counters are missing, where there should be some."""
    if product["status"] != "ok":
        yield f"unit: the product of known size was not counted: {product['status']}: {product['reason']}"
    if not agreed["counted"]:
        yield "counters: no case has any"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
