"""What a profiler of kernels recorded: launches with their metrics, whatever file they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of a kernel, or all launches of one that a summary has together (``launches``).

    ``metrics`` are in base units (see `roofline.counters.terms.Dimension`) and, of a summary, summed over its launches.
    ``absent`` are metrics that were asked for and did not answer, with what stood in their place. ``ranges`` are the
    names of the NVTX ranges that it was launched in; None: the file doesn't tell.
    """

    name: str
    launches: int = 1
    grid: str | None = None
    block: str | None = None
    compute_capability: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    ranges: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """The launches of one file, in order. ``notes``: what the reader of its figures must know.

    ``passes``: how often a kernel was replayed at most; ``passes_by_file`` the same of each file that was joined.
    """

    source: str
    launches: tuple[Launch, ...]
    passes: int | None = None
    passes_by_file: Mapping[str, int | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
