"""Sessions taken together that aren't of one code: what an old one reached would hide what the new one doesn't."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roofline.model.points import Point
from roofline.text.units import some_of

_SHOWN = 8
"""So many files are named."""


def of_several_commits(groups: Iterable[Sequence[Point]], done: str) -> str | None:
    """Which commits and files; None where each group is of one commit, as far as its files tell.

    :param groups: sessions of a case each, oldest first.
    :param done: what was done with the sessions of a group, such as "judged".
    """
    commits: set[str] = set()
    others: dict[str, None] = {}
    for sessions in groups:
        of_file = {point.result.path: commit for point in sessions if (commit := point.result.commit)}
        if len(set(of_file.values())) > 1:
            commits.update(of_file.values())
            newest = sessions[-1].result.commit
            others.update(dict.fromkeys(path.name for path, commit in of_file.items() if commit != newest))
    if not commits:
        return None
    shown = ", ".join(sorted(commit[:10] for commit in commits))
    named = some_of([*others], _SHOWN)
    return (
        f"Sessions of several commits are {done} together: {shown}; not of the newest one's: {named}. Give those"
        " of one at a time."
    )
