"""The roofs that a run's cases are placed under: of its tests, of earlier results, kept, or measured at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from pytest_roofline.roofs.kernels import Ledger
from pytest_roofline.roofs.required import MeasuredRoofs, doubts, needed
from pytest_roofline.roofs.stored import CacheError, KeptRoofs
from roofline.schema.record import Record
from roofline.schema.session import Machine, Roof

Measure = Callable[[Sequence[str], Sequence[Roof]], MeasuredRoofs]
"""Measures roofs by their names, beside those that are known already."""


class RunRoofs:
    """The roofs of one run.

    :param say: shows a line at the end of the run.
    :param anew: whether those of earlier runs don't count.
    :param later: whether this is a later session of a set: the first has measured what can be had.
    """

    def __init__(
        self, machine: Machine, measure: Measure, say: Callable[[str], None], *, anew: bool, later: bool
    ) -> None:
        self.ledger = Ledger()
        """Those that tests of this process measure."""
        self.fills = False
        """Whether results are written in which roofs that no test measures are to stand."""
        self.begun: tuple[Roof, ...] = ()
        """Of the run that this one goes on with."""
        self.earlier: tuple[Roof, ...] = ()
        """Measured last on this machine, by the results in the same folder."""
        self._machine = machine
        self._measure = measure
        self._say = say
        self._anew = anew and not later
        self._later = later
        self._of_others: dict[str, Sequence[Roof]] = {}
        """Measured by tests in other processes, by process."""
        self._kept: tuple[Roof, ...] = ()
        """Taken from the user's cache."""
        self._filled: tuple[Roof, ...] = ()
        """Measured for want of a test."""
        self._not_filled: set[str] = set()
        """Those that were looked for and can't be had; they are looked for once."""
        self._doubtful: set[Roof] = set()
        """Of earlier runs; they may be wrong, and so are measured again."""

    def all(self) -> tuple[Roof, ...]:
        """Those this run measured; those it didn't, as they were measured last on the same machine.

        An earlier one that is doubtful stands only where there is no other.
        """
        of_others = chain.from_iterable(self._of_others.values())
        found = {roof.name: roof for roof in (*self.begun, *self._filled, *of_others, *self.ledger.roofs())}
        older = sorted((*self.earlier, *self._kept), key=lambda roof: roof.measured_at or "", reverse=True)
        for roof in sorted(older, key=self._doubtful.__contains__):
            found.setdefault(roof.name, roof)
        return tuple(found.values())

    def take(self, process: str, measured: Sequence[Roof]) -> None:
        """Have the roofs that tests in another process have measured by now."""
        if measured:
            self._of_others[process] = measured

    def fill(self, records: Iterable[Record], *, measure: bool) -> float:
        """Get the roofs that cases need, where no test of the run measured any.

        They are taken from the cache, or measured and kept there; a doubtful one is measured again. A roof that can't
        be had is named, and no error.

        :param measure: False to take only what is there.
        :returns: the seconds that measuring took.
        """
        if not self.fills or self.ledger or self._of_others:
            return 0.0
        wanted = needed(records, self._machine.device)
        had = {roof.name for roof in self._filled}
        if not self._anew:
            self._take_kept(wanted)
            had |= {roof.name for roof in self.all() if roof not in self._doubtful}
        lacking = [name for name in wanted if name not in had and name not in self._not_filled]
        if not lacking or not measure or self._later:
            return 0.0
        measured = self._measure(lacking, self.all())
        self._filled += measured.roofs
        self._not_filled |= measured.missing.keys()
        for name, why in measured.missing.items():
            self._say(f"roofs: no {name}: {why}")
        if measured.roofs:
            self._keep(measured)
        return measured.seconds

    def _take_kept(self, wanted: Sequence[str]) -> None:
        try:
            kept = KeptRoofs.of(self._machine).read()
        except CacheError:
            kept = ()  # measuring says why nothing can be kept
        have = {roof.name for roof in (*self._kept, *self._filled)}
        taken = tuple(roof for roof in kept if roof.name in wanted and roof.name not in have)
        self._kept += taken
        for together in (self.earlier, kept):
            doubtful = doubts(together, self._machine.device) if together else {}
            self._doubtful |= {roof for roof in together if roof.name in doubtful}
        used = [roof for roof in taken if roof not in self._doubtful or self._later]
        if used:
            days = sorted({(roof.measured_at or "")[:10] for roof in used})
            names = ", ".join(roof.name for roof in used)
            self._say(f"roofs: {names} measured earlier on this machine ({', '.join(days)}).")

    def _keep(self, measured: MeasuredRoofs) -> None:
        names = ", ".join(roof.name for roof in measured.roofs)
        told = f"roofs: measured {names} in {measured.seconds:.1f} s"
        try:
            kept = KeptRoofs.of(self._machine)
            kept.keep(measured.roofs)
        except CacheError as error:
            self._say(f"{told}{measured.again}; they are not kept for later runs: {error}")
        else:
            self._say(f"{told}, kept for later runs in {kept.path}{measured.again}.")
