"""Say whether the results of a run are complete: ``check_results.py FOLDER --case ID ...``.

FOLDER holds the results of one run. Everything that a reader of them relies on has to be there: the machine, its
measured roofs, and for every case a valid record with its timing, its work and its proofs. Prints what is missing and
ends with 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from roofline.schema.record import KEY, Record
from roofline.schema.record_json import RecordError, from_json
from roofline.schema.session import Machine, Session
from roofline.timing.step_time import step_time

TOP_LEVEL = ("machine_info", "commit_info", "benchmarks", "datetime", "version", KEY)
ROOFS = {("flop", "fp32"), ("byte", "dram"), ("byte", "llc"), ("latency", "launch")}


def problems(path: Path, required: Collection[str]) -> Iterator[str]:
    """What is wrong with a results file; nothing if it is complete.

    :param required: ids of the cases that must be in it.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except ValueError as error:
        yield f"not strict JSON: {error}"
        return
    lacking = [key for key in TOP_LEVEL if key not in content]
    if lacking:
        yield f"no top-level key {', '.join(lacking)}"
        return
    try:
        from_json(Machine, content["machine_info"].get(KEY), "machine_info")
        session = from_json(Session, content[KEY], "session")
        records = [
            (bench, from_json(Record, bench["extra_info"].get(KEY), bench["name"])) for bench in content["benchmarks"]
        ]
    except RecordError as error:
        yield str(error)
        return
    yield from _session_problems(session)
    for bench, record in records:
        yield from (f"{record.case.id}: {problem}" for problem in _record_problems(bench, record))
    for case in sorted(set(required) - {record.case.id for _, record in records}):
        yield f"{case} is not in it"


def _session_problems(session: Session) -> Iterator[str]:
    measured = {
        (roof.kind, roof.name) for roof in session.roofs if roof.source == "measured" and roof.from_file is None
    }
    for kind, name in sorted(ROOFS - measured):
        yield f"no {kind} roof {name} was measured"
    for roof in session.roofs:
        if not roof.value > 0 or not roof.samples:
            yield f"roof {roof.name}: value {roof.value}, {len(roof.samples)} samples"
    for case in session.not_measured:
        if case.outcome != "skipped":  # a device has no roof for every precision
            yield f"{case.id}: {case.outcome}: {case.reason}"
    if not session.wall_s or not session.measuring_s:
        yield "the session does not say how long it took and how much of that was measuring"


def _record_problems(bench: dict[str, Any], record: Record) -> Iterator[str]:
    for flag in record.flags:
        if flag.invalid:
            yield f"invalid: {flag.name}: {flag.evidence}"
    for check in record.checks:
        if check.status == "failed":
            yield f"{check.name} failed: {check.evidence}"
    timing = record.timing
    if timing is None:
        yield "no timing"
    elif not timing.step_time_s > 0:
        yield f"step time is {timing.step_time_s}"
    if record.case.mode not in ("train", "infer"):
        return
    if timing is not None:
        step_times = [wall / timing.rounds.steps for wall in timing.rounds.wall_s]
        if not _same(bench["stats"]["data"], step_times):
            yield "pytest-benchmark's times are not those of the record"
        found = step_time(timing.rounds)
        if found is None or not math.isclose(timing.step_time_s, found.time_s, rel_tol=1e-9):
            yield f"the step time is {timing.step_time_s}, by its rounds {found and found.time_s}"
        if found is not None and not math.isclose(bench["stats"]["mean"], found.mean_s, rel_tol=1e-9):
            yield f"pytest-benchmark's mean is {bench['stats']['mean']}, that of the rounds {found.mean_s}"
    if not any(check.status == "passed" for check in record.checks):
        yield "nothing was proven"
    work = record.work
    if work is None or not work.flop_per_step > 0:
        yield "no work was counted"
    else:
        if not 0 < work.byte_low_per_step <= work.byte_high_per_step:
            yield f"byte range {work.byte_low_per_step} to {work.byte_high_per_step}"
        if not math.isclose(sum(work.flop_by_dtype.values()), work.flop_per_step, rel_tol=1e-9):
            yield "FLOPs by dtype don't add up to the total"
        if work.uncovered:
            yield f"no formula for {', '.join(operation.name for operation in work.uncovered)}"
    if not record.operations:
        yield "no operations"
    if record.process is None:
        yield "no process times"


def _same(left: Sequence[float], right: Sequence[float]) -> bool:
    return len(left) == len(right) and all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(left, right, strict=True))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="check_results.py", description="Say whether the results of a run are complete."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--case", action="append", required=True, metavar="ID", help="a case that must be in it")
    options = parser.parse_args(arguments)
    files = sorted(options.folder.rglob("*.json"))
    if len(files) != 1:
        print(f"{options.folder}: expected the results of one run, found {len(files)} files", file=sys.stderr)
        return 1
    found = list(problems(files[0], options.case))
    for problem in found:
        print(f"{files[0].name}: {problem}", file=sys.stderr)
    if not found:
        print(f"{files[0].name}: complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
