"""Does input bound the step? One step fed by ready tensors, by generated images and by real ones, and the loader alone.

A step that waits for its next batch for at least `bounds.INPUT_SHARE` of its time is bound by input. One that doesn't
wait and is slower than on ready tensors all the same shares its CPUs with the loader's workers, or leaves them some:
then it computes with fewer threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from roofline.model.bounds import INPUT_SHARE, input_share
from roofline.results.result import ResultFile
from roofline.schema.record import Record
from roofline.text.units import counted, percent, significant
from roofline.timing.step_time import mostly_disturbed, throughput

TEST = "input_pipeline"
"""``case.config["test"]`` of a step that was measured for this comparison."""

_READY = ("synthetic", "given")

LEAST_SLOWDOWN = 0.02
"""Beyond both margins, a loss of less than this is not worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderVerdict:
    """One step fed by one source, against the same step on ready tensors.

    :param loss: share of the throughput on ready tensors that is lost; negative where the fed step was faster.
    :param significant: whether the loss is larger than both margins and `LEAST_SLOWDOWN`.
    :param disturbed: whether most rounds of either row were disturbed from outside.
    :param fewer_threads: with how many it computes of those that ready tensors were computed with; None: not fewer.
    :param loader_samples_per_s: what the loader delivers when nobody computes; None where it wasn't measured.
    """

    step: str
    source: str
    sample_unit: str
    samples_per_s: float
    ready_samples_per_s: float
    loss: float
    significant: bool
    wait_share: float | None
    disturbed: bool
    fewer_threads: str | None
    loader_samples_per_s: float | None

    @property
    def input_bounds(self) -> bool:
        return self.wait_share is not None and self.wait_share >= INPUT_SHARE

    def sentence(self) -> str:
        parts = [
            f"{self.step} on {self.source}: {significant(self.samples_per_s)} {self.sample_unit}s/s, "
            f"{percent(abs(self.loss))} {'less' if self.loss > 0 else 'more'} than on ready tensors"
        ]
        if self.wait_share is not None:
            parts.append(f"waits {percent(self.wait_share)} of the step")
        if self.loader_samples_per_s is not None:
            times = significant(self.loader_samples_per_s / self.ready_samples_per_s, 2)
            delivered = significant(self.loader_samples_per_s)
            parts.append(f"the loader alone delivers {delivered} ({times}x what ready tensors allow)")
        return f"{'; '.join(parts)}. {self.conclusion}"

    @property
    def conclusion(self) -> str:
        if self.disturbed:
            return "Other programs disturbed most of these rounds: measure again before concluding anything."
        if self.input_bounds:
            return "Input bounds the step."
        if self.loss > LEAST_SLOWDOWN and self.fewer_threads is not None:
            return f"Input does not bound the step, but it {self.fewer_threads}."
        if self.significant and self.loss > 0:
            return "Input does not bound the step, but the loader's workers take CPU time from it."
        if self.loss > LEAST_SLOWDOWN and not self.significant:
            return (
                "Input does not bound the step. Whether it is slower than on ready tensors is not known: the margins"
                " reached are too wide."
            )
        return "Input does not bound the step."


def has_ready_data(record: Record) -> bool:
    """True if no loader feeds the case: its data are synthetic or given by the test."""
    return record.case.data in _READY


def fewer_threads(record: Record, most: object) -> str | None:
    """Say in words that a step on a CPU computes with fewer threads, for it leaves some to its loader's workers.

    :param most: torch's threads of what it is held against: a number, or whatever stands in its place.
    :return: None where the threads aren't fewer, or not known.
    """
    loader, own = record.case.config.get("loader"), record.case.config.get("threads")
    loads = isinstance(loader, Mapping) and bool(loader.get("workers"))
    if record.device.kind != "cpu" or not loads or not isinstance(own, int) or not isinstance(most, int) or own >= most:
        return None
    return f"computes with {own} of {most} threads, for the loader's workers have the rest"


def verdicts(result: ResultFile) -> tuple[LoaderVerdict, ...]:
    """A verdict for every fed step of the file that has its counterpart on ready tensors."""
    found = [benchmark.record for benchmark in result.benchmarks if benchmark.record is not None]
    records = [record for record in found if record.valid]
    fed = [record for record in records if record.case.config.get("test") == TEST and throughput(record)]
    ready = {_step(record): record for record in fed if _wait(record) is None}
    alone = {_feed(record): throughput(record) for record in records if record.case.mode == "input"}
    return tuple(
        _verdict(record, ready[_step(record)], alone.get(_feed(record)))
        for record in fed
        if _wait(record) is not None and _step(record) in ready
    )


def lines(result: ResultFile, *, verbose: bool) -> list[str]:
    """The verdicts of a file: a sentence each with all figures, or a line for all that come to the same."""
    if verbose:
        return [verdict.sentence() for verdict in verdicts(result)]
    conclusions = Counter(verdict.conclusion for verdict in verdicts(result))
    return [f"{counted(steps, 'step')} fed: {conclusion}" for conclusion, steps in conclusions.items()]


def _verdict(record: Record, ready: Record, alone: float | None) -> LoaderVerdict:
    rate, reference = throughput(record) or 0.0, throughput(ready) or 0.0
    loss = 1 - rate / reference
    return LoaderVerdict(
        step="-".join(_step(record)),
        source=record.case.data,
        sample_unit=record.case.sample_unit,
        samples_per_s=rate,
        ready_samples_per_s=reference,
        loss=loss,
        significant=abs(loss) > LEAST_SLOWDOWN + _margin(record) + _margin(ready),
        wait_share=input_share(record),
        disturbed=_disturbed(record) or _disturbed(ready),
        fewer_threads=fewer_threads(record, ready.case.config.get("threads")),
        loader_samples_per_s=alone,
    )


def _margin(record: Record) -> float:
    """The margin reached; 0 where none could be claimed would make noise significant, so that counts as everything."""
    margin = None if record.timing is None else record.timing.margin
    return 1.0 if margin is None else margin


def _disturbed(record: Record) -> bool:
    return record.timing is not None and mostly_disturbed(record.timing.rounds.disturbed) is not None


def _wait(record: Record) -> float | None:
    return None if record.timing is None else record.timing.input_wait_s


def _step(record: Record) -> tuple[str, ...]:
    case = record.case
    return (case.model, case.mode, f"b{case.batch}", case.precision) + (
        () if case.layout == "contiguous" else (case.layout or "mixed layouts",)
    )


def _feed(record: Record) -> tuple[str, int]:
    return (record.case.data, record.case.batch)
