"""Say why values of a record are missing, where the reason is always the same; and find those without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace

from pytest_roofline.device.nvml import DeviceState, HeldDown
from roofline.schema.record import Counters, HostCounters, KernelCounters, Mode, Record

_KINDS: dict[Mode, str] = {"roof": "the kernel of a roof", "input": "a loader alone"}


def _uncounted(mode: Mode) -> str:
    if mode in _KINDS:
        return f"perf stat counts the steps of a model, not {_KINDS[mode]}"
    return "perf stat was not asked for"


_REASONS: tuple[tuple[str, Callable[[Record], str]], ...] = (
    ("device.index", lambda record: f"there is one {record.device.kind} only"),
    ("device.compute_capability", lambda _: "CUDA devices alone have one"),
    ("device.last_level_cache_byte", lambda _: "the system doesn't tell it"),
    ("timing.compile_s", lambda _: "steps run eagerly: nothing is compiled"),
    ("timing.compiled_from_cache", lambda record: record.missing.get("timing.compile_s", "nothing is compiled")),
    ("timing.input_startup_s", lambda _: "batches lie ready: nothing had to start"),
    ("timing.autocorrelation_rounds", lambda record: record.missing.get("timing.margin", "too few rounds")),
    ("timing.step_time_sd_s", lambda _: "one round has no spread"),
    ("timing.margin_target", lambda record: f"the protocol {record.timing.protocol if record.timing else ''} has none"),
    ("timing.warmup_settled", lambda _: "a number of warm-up steps was asked for"),
    ("timing.rounds.disturbed", lambda _: "nothing that would show it was read"),
    *(
        (f"timing.rounds.{one.name}", lambda record: f"not read for {record.device.kind}")
        for one in (*fields(DeviceState), *fields(HeldDown))
    ),
    ("process.throttled_s", lambda _: "no CPU quota is set, or nothing tells how long it held threads back"),
    ("profile.device_busy_s", lambda record: f"not read for {record.device.kind}"),
    ("profile.longest_gap_s", lambda record: f"not read for {record.device.kind}"),
    ("host_counters", lambda record: _uncounted(record.case.mode)),
    ("operations.time_s", lambda record: record.missing.get("profile", "operations are not timed one by one")),
    ("work.uncovered.time_s", lambda record: record.missing.get("profile", "operations are not timed one by one")),
    ("profile", lambda record: f"no profile is taken of {_KINDS.get(record.case.mode, 'this row')}"),
    ("counters", lambda _: "hardware counters were not asked for"),
    ("energy_j_per_step", lambda record: f"not read for {record.device.kind}"),
    ("work", lambda record: f"not counted for {_KINDS.get(record.case.mode, 'inference')}"),
    ("memory", lambda record: f"not read for {_KINDS.get(record.case.mode, 'this row')}"),
    ("timing.input_wait_s", lambda record: f"not apart from the step of {_KINDS.get(record.case.mode, 'this row')}"),
)


def reason_of(error: Exception) -> str:
    """Make a reason of an error: its type, and the first line of its message that isn't blank."""
    line = next(filter(None, map(str.strip, str(error).splitlines())), "")
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def explained(record: Record) -> Record:
    """The record with a reason for every value that is missing and whose reason follows from what it is.

    What is left without one was forgotten where it was left out; a test holds that nothing is.
    """
    found = {}
    for path in unexplained(record):
        for prefix, reason in _REASONS:
            if path == prefix or path.startswith(prefix + "."):
                found[path] = reason(record)
                break
    return replace(record, missing={**record.missing, **found})


_NULL_TELLS_ENOUGH = frozenset(
    {
        "device.index",
        *("parallel", "parallel.strategy"),
        *(f"counters.{one.name}" for one in fields(Counters)),
        *(f"counters.kernels.{one.name}" for one in fields(KernelCounters)),
        *(f"host_counters.{one.name}" for one in fields(HostCounters)),
        *("expected.bound", "expected.min_fraction_of_roof", "expected.min_fraction_of_speed_of_light"),
    }
)
"""What None means here stands in the class: the only device of its kind, counters whose status gives the reason, and
what isn't expected."""


def unexplained(record: Record) -> tuple[str, ...]:
    """Dotted paths of the values that are None without a reason in ``missing``, in the order of the fields.

    The reason of a part covers all in it. Parts of one tuple share a path: ``operations.time_s`` stands for every
    operation without a time. A null setting in ``case.config`` and a quiet round in ``disturbed`` are values.
    """

    def walk(value: object, path: str) -> Iterator[str]:
        if path in record.missing or path in _NULL_TELLS_ENOUGH:
            return
        if value is None:
            yield path
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                for one in fields(part):
                    yield from walk(getattr(part, one.name), f"{path}.{one.name}".lstrip("."))

    return tuple(dict.fromkeys(walk(record, "")))
