"""The energy of a step: what was used between the ends of the timed rounds, over the steps taken in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_roofline.measuring.timing_record import Taken

LEAST_S = 1.0
"""Of rounds. What a board's sensor sees is a part of the time only, a quarter of it on the A100 and H100
(arXiv:2312.02741): over less than this its counter says little."""


def energy_per_step(
    spent_j: Sequence[float | None], taken: Taken, unread: Mapping[str, str], *, in_turns: bool
) -> tuple[float | None, dict[str, str]]:
    """Joule of one step, and why there are none, by the path in the record.

    What is read between the rounds, a few milliseconds of each, is in it.

    :param spent_j: from before the first round to after the last one, by repeat; of one that the end of the data broke
        off there is none.
    :param unread: of the instruments.
    :param in_turns: other processes ran between the rounds.
    """
    rounds = [round for repeat in taken.repeats for round in repeat.rounds]
    wall_s = sum(round.wall_s for round in rounds)
    used = [joule for joule in spent_j if joule is not None]
    if in_turns:
        why = "another process ran between the rounds"
    elif len(used) < len(spent_j):
        why = unread.get("energy_j", "the device tells no energy")
    elif len(spent_j) < len(taken.repeats):
        why = "the data ended within a round"
    elif wall_s < LEAST_S:
        why = f"{wall_s:.2g} s of timed rounds are too short for a counter of energy"
    elif sum(used) <= 0:
        why = f"the counter of energy stood still for {wall_s:.2g} s"
    else:
        return sum(used) / (taken.steps * len(rounds)), {}
    return None, {"energy_j_per_step": why}
