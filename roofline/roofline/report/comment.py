"""A comparison as a comment for a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roofline.comparison.comparison import Comparison
from roofline.comparison.gate import Gate
from roofline.comparison.judged_case import Compared
from roofline.comparison.verdict_table import sentence, table
from roofline.show.render import render
from roofline.text.units import counted, in_document

LONGEST = 65_536
"""Characters of a comment on GitHub."""


def comment(comparison: Comparison, gate: Gate, longest: int = LONGEST) -> str:
    """Markdown with the verdicts, the worst first, and what has to be known of both sides; cases that are the same are
    counted.

    :param gate: what the comparison comes to.
    :param longest: characters; the rows that don't fit are counted.
    """
    listed = [case for case in comparison.cases if case.outcome != "same"]
    text = _text(comparison, gate, listed)
    while len(text) > longest and listed:
        listed = listed[: len(listed) // 2]
        text = _text(comparison, gate, listed)
    return text


def _text(comparison: Comparison, gate: Gate, listed: Sequence[Compared]) -> str:
    whole = table(comparison, sentence(comparison, gate.exit_code), verbose=False)
    same = comparison.counts["same"]
    more = len(comparison.cases) - same - len(listed)
    left_out = [f"Not in the table: {counted(same, 'case')} the same"] if same else []
    left_out += [f"Not in the table, for want of room: {counted(more, 'case')}"] if more else []
    notes = [*gate.messages, *left_out, *(note for note in whole.notes if note not in gate.lines)]
    return in_document(render(replace(whole, rows=listed, notes=notes), "markdown", 0))
