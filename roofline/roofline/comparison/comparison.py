"""Every case of two sides with its verdict, the worst first."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.common_factor import CommonFactor, TwoSides, common_factor
from roofline.comparison.effects.effect import Effect
from roofline.comparison.effects.exact import ExactChange, judge_exact
from roofline.comparison.effects.learning import Learned, holds
from roofline.comparison.effects.verdict import Verdict, judge_effects
from roofline.comparison.judged_case import MATCHED, OUTCOMES, Compared, Outcome, matched_case
from roofline.comparison.observations.observed_machine import MachineIdentity, machine_difference, names_of
from roofline.comparison.observations.runs import ObservedRun
from roofline.comparison.sides.compared_figures import FIGURES, ComparedFigure
from roofline.comparison.sides.earlier_sessions import EarlierSessions, learn_from
from roofline.comparison.sides.matching import MatchedCase, match
from roofline.comparison.sides.side_files import Side, read_side
from roofline.files.decoding import ReadError
from roofline.files.paths import real_path
from roofline.machine.published import DeviceTable
from roofline.results.reader import result_files
from roofline.results.stored_runs import is_store, is_stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``cases`` are sorted, the worst first. ``left_out``: sessions, rows and files that nothing was compared with, and
    why. ``unreadable``: files of a folder, and parts of files, that should be results and can't be read. ``common`` are
    the changes that all cases of a machine share, where there is one. ``earlier`` is what earlier sessions of a machine
    tell of its scatter; it isn't used of ``other_hours``, where the sessions of the sides scatter more.

    The runs of a side include the sessions left out.
    """

    settings: Settings
    cases: tuple[Compared, ...]
    base_runs: tuple[ObservedRun, ...]
    new_runs: tuple[ObservedRun, ...]
    left_out: tuple[str, ...]
    unreadable: tuple[str, ...] = ()
    common: Mapping[MachineIdentity, CommonFactor] = field(default_factory=dict)
    earlier: EarlierSessions = field(default_factory=EarlierSessions)
    other_hours: frozenset[MachineIdentity] = frozenset()

    @property
    def figure(self) -> ComparedFigure:
        """Give the figure that was compared."""
        return FIGURES[self.settings.figure]

    def of(self, *outcomes: Outcome) -> tuple[Compared, ...]:
        return tuple(case for case in self.cases if case.outcome in outcomes)

    @property
    def counts(self) -> Counter[Outcome]:
        return Counter(case.outcome for case in self.cases)

    @property
    def matched(self) -> int:
        return len(self.of(*MATCHED))

    @property
    def judged(self) -> int:
        """Count the matched cases that have an effect: sessions of disturbed hours alone have none."""
        return sum(case.effect is not None for case in self.of(*MATCHED))

    @property
    def below_floor(self) -> tuple[Compared, ...]:
        """Matched cases that aren't slower, and of which no small slowdown could be: the floor is as long as they."""
        matched = (case for case in self.of(*MATCHED) if case.outcome != "slower")
        return tuple(case for case in matched if case.base is not None and case.base.value <= self.settings.floor_s)

    @property
    def one_session_a_side(self) -> bool:
        """Tell whether each side was given as one session: nothing then shows how far sessions scatter."""
        return len(self.base_runs) == len(self.new_runs) == 1

    @property
    def machines(self) -> tuple[MachineIdentity, ...]:
        return tuple(dict.fromkeys(case.match.machine for case in self.cases))

    @property
    def machine_names(self) -> dict[MachineIdentity, str]:
        """A name for each machine of the cases, and for those of the baseline that are none of these."""
        others = (
            run.machine
            for run in self.base_runs
            if all(machine_difference(run.machine, one) is not None for one in self.machines)
        )
        return names_of((*self.machines, *others))


def compare(base: Side, new: Side, settings: Settings, earlier: EarlierSessions | None = None) -> Comparison:
    """:param earlier: what earlier sessions tell of each machine's scatter.
    :raises ReadError: by roof, a side of several machines.
    """
    matching = match(base, new, settings.by)
    family = [matched_case(case, settings) for case in matching.cases if case.standing == "matched"]
    earlier = earlier or EarlierSessions()
    used = _judged_by(earlier.learned, family)
    common = _common(family, settings, matching.cases, used)
    for case, verdict in zip(family, _verdicts(family, settings), strict=True):
        case.decide(verdict, settings.by)
    cases = [*(_not_judged(case, settings) for case in matching.cases if case.standing != "matched"), *family]
    return Comparison(
        settings=settings,
        cases=tuple(sorted(cases, key=_worst_first)),
        base_runs=base.runs,
        new_runs=new.runs,
        left_out=(*matching.left_out, *base.skipped, *new.skipped, *base.repeated, *new.repeated),
        unreadable=(*base.unreadable, *new.unreadable),
        common=common,
        earlier=earlier,
        other_hours=frozenset(earlier.learned.keys() - used.keys()),
    )


def _judged_by(
    learned: Mapping[MachineIdentity, Learned], family: Sequence[Compared]
) -> dict[MachineIdentity, Learned]:
    """Let the cases take what was learned of their machines, where their sessions scatter no more than that."""
    used: dict[MachineIdentity, Learned] = {}
    for machine, tells in learned.items():
        cases = [one for one in family if one.match.machine == machine]
        priors = [tells.of((one.match.id, one.match.test)) for one in cases]
        if holds((one.effect for one in cases if isinstance(one.effect, Effect)), priors):
            used[machine] = tells
            for one, prior in zip(cases, priors, strict=True):
                one.judge_by(prior)
    return used


def _verdicts(family: Sequence[Compared], settings: Settings) -> Sequence[Verdict]:
    """Judge all of one figure, which either scatters or doesn't."""
    known = [(one.effect, one.least) for one in family if one.least is not None]
    exact = [judge_exact(effect, least) for effect, least in known if isinstance(effect, ExactChange)]
    effects = [effect for effect, _ in known if isinstance(effect, Effect)]
    return exact or judge_effects(effects, [least for _, least in known], [settings.confidence] * len(known))


def _common(
    family: Sequence[Compared],
    settings: Settings,
    matches: Sequence[MatchedCase],
    learned: Mapping[MachineIdentity, Learned],
) -> dict[MachineIdentity, CommonFactor]:
    """The change that the cases of each machine share. Each case of them gets its own beside it."""
    assumed = FIGURES[settings.figure].prior
    by_machine: dict[MachineIdentity, list[Compared]] = {}
    for one in family if assumed is not None else ():
        by_machine.setdefault(one.match.machine, []).append(one)
    found: dict[MachineIdentity, CommonFactor] = {}
    for machine, cases in by_machine.items():
        prior = learned[machine].prior if machine in learned else assumed
        assert prior is not None
        factor = common_factor(
            [_by_session(one.match) for one in cases],
            prior,
            settings.least_effect,
            settings.confidence,
            _disturbed_share([match for match in matches if match.machine == machine]),
        )
        if factor is not None:
            found[machine] = factor
            for place, (one, own) in enumerate(zip(cases, factor.own, strict=True)):
                one.own, one.apart = own, place in factor.apart
    return found


def _by_session(case: MatchedCase) -> TwoSides:
    """Map the files of either side to what their sessions say."""
    base, new = (
        {seen.run.file: seen.observation for seen in side if seen.observation is not None}
        for side in (case.base, case.new)
    )
    return base, new


def _disturbed_share(matches: Sequence[MatchedCase]) -> float:
    """Of what the sessions measured of these cases, the share that is left out as disturbed."""
    rows = [row for match in matches for row in (*match.base, *match.new)]
    disturbed = sum(match.disturbed for match in matches) + sum(row.disturbed for row in rows)
    measured = disturbed + sum(row.observation is not None for row in rows)
    return disturbed / measured if measured else 0.0


def compare_paths(base: Sequence[Path], new: Sequence[Path], settings: Settings, devices: DeviceTable) -> Comparison:
    """Read both sides and judge every case.

    :param base: files and folders, as ``new``.
    :raises ReadError: a side isn't there, can't be read, or is of several machines where it may not be.
    """
    for path in base:
        if not _exists(path):
            raise ReadError(f"no baseline: {path} doesn't exist. {how_to_make(path)}")
    for path in new:
        if not _exists(path):
            raise ReadError(f"no new results: {path} doesn't exist.")
    for path in settings.learn_from:
        if not _exists(path):
            raise ReadError(f"nothing to learn from: {path} doesn't exist.")
    of_new = read_side(new, settings.by, devices, figure=settings.figure)
    files = frozenset(real_path(path) for path, _ in result_files(new))
    of_base = read_side(base, settings.by, devices, without=files, others=of_new.sessions, figure=settings.figure)
    earlier = None
    if settings.learn_from:
        earlier = learn_from(settings.learn_from, of_new.machines, (of_base, of_new), settings.figure, devices)
    return compare(of_base, of_new, settings, earlier)


def _exists(path: Path) -> bool:
    """Tell whether it is a file or folder, a store behind a URL, or a run in a store."""
    return path.exists() or is_stored(path) or is_store(path)


def how_to_make(path: Path) -> str:
    """A sentence with the command that makes a baseline."""
    if path.suffix == ".json":
        command = f"pytest TESTS --benchmark-json={shlex.quote(str(path))}"
    else:
        # A test that a flag took for its value is no place for results.
        folder = "FOLDER" if path.is_file() else shlex.quote(str(path))
        command = f"pytest TESTS --roofline-sessions=5 --roofline-results={folder}"
    return f"Make one on this machine, of code that is good: {command}"


def _worst_first(case: Compared) -> tuple[int, float, str]:
    size = 0.0 if case.effect is None else -abs(case.effect.log_ratio)
    return OUTCOMES.index(case.outcome), size, case.match.id


def _not_judged(case: MatchedCase, settings: Settings) -> Compared:
    assert case.standing != "matched"
    if case.standing == "disturbed":
        why = f"{case.why}; measure again on a quieter machine"
        return Compared(match=case, outcome="inconclusive", why=why, figure=settings.figure)
    return Compared(match=case, outcome=case.standing, why=case.why, figure=settings.figure)
