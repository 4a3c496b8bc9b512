"""Read the result files of the check on a GPU, and compare counted work with hardware counters.

The figures: counted FLOPs within 2 % of the counters' (`roofline.counters.reconciliation.AGREEMENT`), of matrix
products and convolutions together, for a convolution may run as a product; DRAM bytes inside of the counted range;
passes of ncu, of which compute capability 8.0 to 9.0 needs no more than `PASSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from roofline.counters.counted_kernels import counted_kernels
from roofline.counters.reconciliation import AGREEMENT, reconcile
from roofline.machine.roofs import Roofs
from roofline.model.counter_values import counters_of
from roofline.results.reader import ResultFile
from roofline.schema.record import Record, Roof

PASSES = {"with_tensor_cores": 5, "without_tensor_cores": 2, "cases_bytes": 1, "cases_flop": 5}
"""At most: bytes and FLOPs of the known product in one run, with and without those of the tensor cores; and of the two
runs that a case takes, where bytes have one of their own since replay changes what the caches hold."""

_NOT_MATRICES = "other arithmetic"

_Row = Mapping[str, Any]
"""The row that `case` makes of a `roofline.counters.reconciliation.Reconciled`."""


def figures_of(result: ResultFile) -> dict[str, Any]:
    """List a result file's roofs, throughput, and counters beside what was counted."""
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
        "has_counters": counters_of(record) is not None,
        "counters": {name: value for name, value in counted.items() if name != "kernels"},
        "reconciled": [{**asdict(row), "ratio": row.ratio, "standing": row.standing} for row in rows],
    }


def agreement(cases: Sequence[Mapping[str, Any]], unit: Mapping[str, Any]) -> dict[str, Any]:
    """Of how many cases count and counters agree, the others with their reasons, and the passes that ncu took.

    :param cases: as `case` makes them; those without counters are in no share.
    :param unit: what became of the product of known size.
    """
    counted = [one for one in cases if one["has_counters"]]
    return {
        "cases": len(cases),
        "counted": len(counted),
        "flop": _share(counted, _matrices, lambda row: row["standing"] == "agrees"),
        "dram_byte": _share(counted, _bytes, lambda row: row["ratio"] == 1.0),
        "passes": {
            "with_tensor_cores": _held(unit.get("passes"), "with_tensor_cores"),
            "without_tensor_cores": _held(unit.get("passes_without_tensor"), "without_tensor_cores"),
            "cases_bytes": _held(_most(counted, "passes"), "cases_bytes"),
            "cases_flop": _held(_most(counted, "flop_passes"), "cases_flop"),
        },
    }


def in_words(found: Mapping[str, Any]) -> str:
    """The shares of an `agreement` in one line."""
    flop, byte = found["flop"], found["dram_byte"]
    return (
        f"counters of {found['counted']} of {found['cases']} cases; FLOPs within {100 * AGREEMENT:g} % in"
        f" {flop['within']} of {flop['of']}, DRAM bytes inside of the counted range in {byte['within']} of {byte['of']}"
    )


def _share(
    counted: Sequence[Mapping[str, Any]],
    pick: Callable[[Sequence[_Row]], _Row | None],
    agrees: Callable[[_Row], bool],
) -> dict[str, Any]:
    """A case without the row can't be said to agree: it is one of the others."""
    others: list[dict[str, Any]] = []
    for one in counted:
        row = pick(one["reconciled"])
        if row is None:
            others.append({"id": one["id"], "standing": "unknown", "reasons": ["nothing of it was counted"]})
        elif not agrees(row):
            others.append({"id": one["id"], **{name: row[name] for name in ("name", "ratio", "standing", "reasons")}})
    return {"within": len(counted) - len(others), "of": len(counted), "others": others}


def _matrices(rows: Sequence[_Row]) -> _Row | None:
    """The last of them is of products and convolutions together, where there are both."""
    return next((row for row in reversed(rows) if row["unit"] == "FLOP" and row["name"] != _NOT_MATRICES), None)


def _bytes(rows: Sequence[_Row]) -> _Row | None:
    return next((row for row in rows if row["unit"] == "B"), None)


def _most(counted: Sequence[Mapping[str, Any]], name: str) -> int | None:
    return max((passes for one in counted if (passes := one["counters"].get(name)) is not None), default=None)


def _held(passes: int | None, what: str) -> dict[str, Any]:
    return {"passes": passes, "at_most": PASSES[what], "kept": None if passes is None else passes <= PASSES[what]}
