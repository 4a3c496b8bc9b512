"""Add up the metrics of one launch, and say why a quantity is not there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

from roofline.counters.quantities import (
    CYCLES,
    INSTRUCTIONS,
    NAMES,
    PACKED,
    QUANTITIES,
    SM_CLOCKS,
    TENSOR,
    TENSOR_ACTIVITY,
    TENSOR_OPERATIONS,
    TIME,
    Alternatives,
    Quantity,
    Sum,
    chip_of,
    instruction_count,
    metrics_of,
    own_metrics,
    taken_for,
    tensor_count,
)

_STOPPED = "0: it was rounded, for a launch takes time"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchAmounts:
    """The quantities of one launch, or of several counted together.

    ``amounts`` has each of `QUANTITIES` by its name. None: not had, and ``missing`` says why. ``flop_by_pipe`` has the
    pipes that were counted in full, and is None where none was. FLOPs are their sum, where the CUDA cores were counted
    and every pipe that was asked for answered; ``not_counted`` are those whose metrics nobody asked for, or not for
    all. ``metrics`` tells by quantity which metric answered. ``tensor_cores``: whether they did anything.
    """

    amounts: Mapping[str, float | None]
    flop_by_pipe: Mapping[str, float] | None = None
    tensor_cores: bool | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    not_counted: tuple[str, ...] = ()


def launch_amounts(
    metrics: Mapping[str, float],
    *,
    absent: Mapping[str, str] | None = None,
    compute_capability: str | None = None,
) -> LaunchAmounts:
    """Add up the metrics of one launch.

    :param metrics: values in base units (see `roofline.counters.quantities.Dimension`), finite and not negative.
    :param absent: metrics that were asked for and did not answer, with what was printed in their place.
    """
    stopped = {name: _STOPPED for name in (TIME, *SM_CLOCKS, *CYCLES) if metrics.get(name) == 0}
    answers = _Answers(frozenset(metrics).difference(stopped), {**(absent or {}), **stopped})
    capability = taken_for(compute_capability)
    found = {one.name: answers.first(one.name, one.ways) for one in QUANTITIES if one.ways and not one.parts}
    found |= {one.name: _whole(one, found, answers, capability) for one in QUANTITIES if one.parts}
    pipes, not_counted, begun = _counted(answers, capability)
    if (why := _why_no_flop(pipes, answers)) is not None:
        answers.missing["flop"] = why
        if not pipes:
            answers.missing["flop_by_pipe"] = why
    elif (busy := next((name for name in begun if metrics[name]), None)) is not None:
        answers.missing["flop"] = f"{busy} isn't 0, and the others of its pipe were not collected"
    counted = {pipe: _amount(parts, metrics) for pipe, parts in pipes.items()}
    amounts: dict[str, float | None] = dict.fromkeys(NAMES)
    amounts |= {name: _amount(((terms, 1.0),), metrics) for name, terms in found.items() if terms is not None}
    amounts["flop"] = None if "flop" in answers.missing else math.fsum(counted.values())
    own = [pipe.name for pipe in _pipes(capability) if pipe.certain and pipe.name in TENSOR]
    return LaunchAmounts(
        amounts=amounts,
        flop_by_pipe=counted or None,
        tensor_cores=_tensor_cores(metrics, bool(own) and set(own) <= set(pipes)),
        metrics=answers.used,
        missing=answers.missing,
        not_counted=not_counted,
    )


_Parts = tuple[tuple[Sum, float], ...]
"""Sums of metrics, each with what one of it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipe:
    """Sets of metrics, each with the FLOP that one count of it is worth; the first set that answers is the sum.

    ``metrics``: all of them. ``certain``: the chip is known to have the pipe.
    """

    name: str
    sets: tuple[tuple[tuple[Alternatives, float], ...], ...]
    metrics: frozenset[str]
    certain: bool


class _Answers:
    """Looks metrics up, and keeps account of which answer and what is missing."""

    def __init__(self, answered: frozenset[str], absent: Mapping[str, str]) -> None:
        self._answered = answered
        self._absent = absent
        self.used: dict[str, str] = {}
        self.missing: dict[str, str] = {}

    def first(self, quantity: str, alternatives: Alternatives) -> Sum | None:
        """The first alternative that answers."""
        terms = self.answering(alternatives)
        if terms is None:
            self.missing[quantity] = self.why(alternatives)
        else:
            self.used[quantity] = _written(terms)
        return terms

    def answering(self, alternatives: Alternatives) -> Sum | None:
        return next((terms for terms in alternatives if self._answered.issuperset(metrics_of(terms))), None)

    def asked(self, metrics: Set[str]) -> bool:
        return not (metrics.isdisjoint(self._answered) and metrics.isdisjoint(self._absent))

    def refused(self, metrics: Set[str]) -> bool:
        """Tell whether one was asked for and did not answer."""
        return not metrics.isdisjoint(self._absent)

    def had(self, metrics: Set[str]) -> list[str]:
        return sorted(metrics & self._answered)

    def why(self, alternatives: Alternatives) -> str:
        """Name what the alternatives lack."""
        # A time or a clock that lacks is the reason only where the rate that it belongs to was asked for.
        asked = [terms for terms in alternatives if self.asked({term.metric for term in terms})]
        for name in (name for terms in asked for name in metrics_of(terms)):
            if name in self._absent:
                return f"{name}: {self._absent[name]}"
        # Of a sum of which some metrics are there, one that is not.
        begun = (terms for terms in alternatives if any(term.metric in self._answered for term in terms))
        lacking = next(name for name in metrics_of(next(begun, alternatives[0])) if name not in self._answered)
        return f"{lacking} was not collected"


def _whole(
    quantity: Quantity, found: Mapping[str, Sum | None], answers: _Answers, capability: str | None
) -> Sum | None:
    """All parts of a quantity together, or what counts them together."""
    parts = [terms for part in quantity.parts if (terms := found[part]) is not None]
    if len(parts) == len(quantity.parts):
        together = tuple(term for terms in parts for term in terms)
        answers.used[quantity.name] = _written(together)
        return together
    both = answers.first(quantity.name, quantity.ways)
    if both is not None:
        return both
    chip = chip_of(capability)
    if chip is not None and not chip.has_dram_counters:
        why = "this chip has no counter of DRAM bytes"
        answers.missing |= dict.fromkeys((quantity.name, *quantity.parts), why)
    elif not answers.asked(own_metrics(quantity.ways)):
        lacking = next(part for part in quantity.parts if found[part] is None)
        answers.missing[quantity.name] = answers.missing[lacking]
    return None


def _counted(answers: _Answers, capability: str | None) -> tuple[dict[str, _Parts], tuple[str, ...], tuple[str, ...]]:
    """The pipes that are counted in full, those that nobody asked for in full, and the metrics that these have."""
    counted: dict[str, _Parts] = {}
    not_counted: list[str] = []
    begun: list[str] = []
    unanswered: list[_Pipe] = []
    for pipe in _pipes(capability):
        if not answers.asked(pipe.metrics):
            if pipe.certain:
                not_counted.append(pipe.name)
            continue
        answering = next((one for one in pipe.sets if all(answers.answering(part) for part, _ in one)), None)
        if answering is None and pipe.name in TENSOR and not answers.refused(pipe.metrics):
            not_counted.append(pipe.name)
            begun += answers.had(pipe.metrics)
            continue
        if answering is None:
            unanswered.append(pipe)
            continue
        parts = tuple((answers.answering(part) or (), flop) for part, flop in answering)
        counted[pipe.name] = parts
        written = (_written(one) if flop == 1 else f"{flop:g} {_written(one)}" for one, flop in parts)
        answers.used[f"flop_by_pipe.{pipe.name}"] = " + ".join(written)
    some_tensor = any(name in TENSOR for name in counted)
    for pipe in unanswered:
        # Types of the tensor cores that don't answer where others do are types that the chip doesn't have.
        if pipe.certain or not some_tensor:
            chosen = next(one for one in pipe.sets if any(answers.asked(own_metrics(part)) for part, _ in one))
            lacking = next(part for part, _ in chosen if answers.answering(part) is None)
            answers.missing[f"flop_by_pipe.{pipe.name}"] = answers.why(lacking)
    return counted, tuple(not_counted), tuple(begun)


def _why_no_flop(pipes: Mapping[str, _Parts], answers: _Answers) -> str | None:
    lacking = next((name for name in answers.missing if name.startswith("flop_by_pipe.")), None)
    if lacking is not None:
        return f"{lacking.partition('.')[2]} is not counted: {answers.missing[lacking]}"
    if not any(pipe in pipes for pipe in INSTRUCTIONS):
        return f"the CUDA cores are not counted: {answers.why(instruction_count('ffma')[:1])}"
    return None


def _amount(parts: _Parts, metrics: Mapping[str, float]) -> float:
    return math.fsum(
        worth
        * term.factor
        * math.prod((metrics[term.metric], *(metrics[name] for name in term.times)))
        / (1.0 if term.over is None else metrics[term.over])
        for terms, worth in parts
        for term in terms
    )


def _tensor_cores(metrics: Mapping[str, float], every_pipe: bool) -> bool | None:
    """:param every_pipe: all that the chip has are counted."""
    activity = {
        name: value for name, value in metrics.items() if name.startswith((*TENSOR_ACTIVITY, TENSOR_OPERATIONS))
    }
    if any(activity.values()):
        return True
    # That one kind of operation (hmma) didn't run tells nothing of the others.
    all_kinds = any(name.startswith(TENSOR_ACTIVITY) and "_op_" not in name for name in activity)
    return False if all_kinds or every_pipe else None


@lru_cache(maxsize=32)
def _pipes(capability: str | None) -> tuple[_Pipe, ...]:
    """The pipes that the chip has or, as far as is known, may have."""
    chip = chip_of(capability)
    pipes: list[_Pipe] = []
    for name, flop in INSTRUCTIONS.items():
        plain = tuple((instruction_count(one), worth) for one, worth in flop.items())
        packed = (*plain, *((instruction_count(one), worth) for one, worth in PACKED.items()))
        if name != "fp32" or (chip is not None and not chip.packed):
            pipes.append(_pipe(name, (plain,), certain=True))
        else:
            pipes.append(_pipe(name, (packed,) if chip is not None else (packed, plain), certain=True))
    for name, sets in TENSOR.items():
        own = [sources for sources in sets if chip is not None and set(sources) <= set(chip.tensor)]
        ordered = (*own, *(sources for sources in sets if sources not in own))
        summed = tuple(tuple((tensor_count(one), 1.0) for one in sources) for sources in ordered)
        pipes.append(_pipe(name, summed, certain=bool(own)))
    return tuple(pipes)


def _pipe(name: str, sets: tuple[tuple[tuple[Alternatives, float], ...], ...], *, certain: bool) -> _Pipe:
    metrics = frozenset(metric for one in sets for part, _ in one for metric in own_metrics(part))
    return _Pipe(name=name, sets=sets, metrics=metrics, certain=certain)


def _written(terms: Sum) -> str:
    """For people: ``32 dram__sectors_read.sum``."""
    return " + ".join(
        ("" if term.factor == 1 else f"{term.factor:g} ")
        + " x ".join((term.metric, *term.times))
        + ("" if term.over is None else f" / {term.over}")
        for term in terms
    )
