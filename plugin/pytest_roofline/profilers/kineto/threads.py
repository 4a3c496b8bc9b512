"""What ran in other threads while a step was recorded: modes belong to a thread, and so do the labels they make.

With a profiler that sees all threads, the spans of a thread that nobody follows are of one of these: of a part of the
step that the user's code hands to a thread of its own; of torch's own pool inside of an operation (views of what a
kernel is split into); or of something that just runs meanwhile, such as a loader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_roofline.counting.matrix import MATRIX_OPERATIONS
from pytest_roofline.profilers.kineto.labels import LABEL
from pytest_roofline.profilers.kineto.recording import Recording
from roofline.text.units import some_of

_NAMED = 3
"""So many operations are named, at most."""


def followed(recording: Recording) -> Recording:
    """The same without the spans of threads that nobody follows."""
    own = _followed_threads(recording)
    return replace(recording, spans=tuple(span for span in recording.spans if span.thread in own))


def elsewhere(recordings: Sequence[Recording]) -> str | None:
    """Why what is followed is not all of the step, where its threads say so.

    These are matrix products, convolutions and the like that every one of the steps has in a thread that nobody
    follows. What runs meanwhile has them in some steps only, or none.

    :param recordings: of one step after the other, each of all threads.
    """
    hidden = set.intersection(*map(_hidden_products, recordings)) if recordings else set()
    if not hidden:
        return None
    names = sorted(hidden)
    return f"{some_of(names, _NAMED)} ran in another thread in every step: what other threads run can't be seen"


def _hidden_products(recording: Recording) -> set[str]:
    own = _followed_threads(recording)
    return {span.name for span in recording.spans if span.thread not in own and span.name in MATRIX_OPERATIONS}


def _followed_threads(recording: Recording) -> set[int]:
    """The one that takes the step, and those to which torch hands its modes on: they have labels."""
    return {recording.thread, *(span.thread for span in recording.spans if span.name.startswith(LABEL))}
