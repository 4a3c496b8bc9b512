"""Tables of the audit's findings and of its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from roofline.audits.auditing import Audit
from roofline.audits.row import StatedRow
from roofline.audits.rule import Contradiction, Rule
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A contradiction and the rule that found it."""

    rule: Rule
    contradiction: Contradiction

    @property
    def row(self) -> StatedRow:
        return self.contradiction.row


def findings_table(audit: Audit, *, verbose: bool = False) -> Table[Finding]:
    """A row for each contradiction, in blocks by file and rule; below, how much there was to look at.

    :param verbose: name the rules that found nothing to look at.
    """
    found = [
        Finding(rule=result.rule, contradiction=contradiction)
        for result in audit.results
        for contradiction in result.contradictions
    ]
    files = list(dict.fromkeys(row.file for row in audit.rows))
    # Stable: within a file and a rule the order is that of the rows.
    found.sort(key=lambda finding: files.index(finding.row.file))
    sentence = replace(words("arithmetic", "what contradicts what", _sentence), fill=True)
    return Table(
        title=f"{counted(len(found), 'contradiction')} found",
        columns=_COLUMNS,
        rows=found,
        display=(words("place", "row", "row.place"), sentence) if found else (),
        section=lambda finding: f"{finding.row.file}: {finding.rule.title} ({finding.rule.name})",
        section_title="file and rule",
        notes=_notes(audit, files, verbose=verbose),
    )


def rules_table(rules: Sequence[Rule]) -> Table[Rule]:
    """The rules with their meaning and tolerance."""
    tolerance = number("tolerance", show=lambda value: f"{100 * value:g} %")
    name = words("rule", get="name")
    return Table(
        title="Rules of the audit",
        columns=(name, words("title", "contradiction"), tolerance, words("meaning")),
        rows=rules,
        display=(
            name,
            tolerance,
            replace(words("meaning", get=lambda rule: f"{rule.title}. {rule.meaning}"), fill=True),
        ),
    )


_COLUMNS: tuple[Column[Finding], ...] = (
    words("file", get="row.file", dtype="category"),
    number("row", get="row.number", dtype="Int64"),
    words("counted_in", "of", "row.counted_in", dtype="category"),
    words("name", get="row.name"),
    words("rule", get="rule.name", dtype="category"),
    words("title", "contradiction", "rule.title", dtype="category"),
    words("arithmetic", get="contradiction.arithmetic"),
    words(
        "other_rows",
        "other rows",
        lambda finding: [_place(finding.row, other) for other in finding.contradiction.others],
    ),
)


def _sentence(finding: Finding) -> str:
    others = [_place(finding.row, other) for other in finding.contradiction.others]
    # Those that the arithmetic names already need no list.
    more = [place for place in others if place not in finding.contradiction.arithmetic]
    also = f". Also {', '.join(more)}" if more else ""
    return f"{finding.row.name}: {finding.contradiction.arithmetic}{also}"


def _place(row: StatedRow, other: StatedRow) -> str:
    return other.place if other.file == row.file else f"{other.file} {other.place}"


def _notes(audit: Audit, files: Iterable[str], *, verbose: bool) -> list[str]:
    rows = Counter(row.file for row in audit.rows)
    flagged = {
        (row.file, row.number)
        for result in audit.results
        for one in result.contradictions
        for row in (one.row, *one.others)
    }
    per_file = Counter(file for file, _ in flagged)
    notes = [f"{file}: {counted(rows[file], 'row')}, {per_file[file]} in a contradiction" for file in files]
    notes += [
        f"{row.file}: {row.place}: {', '.join(row.nonfinite)}: no measurement, and not looked at"
        for row in audit.rows
        if row.nonfinite
    ]
    idle = [result.rule.name for result in audit.results if not result.examined]
    if idle:
        of_all = len(audit.results)
        rest = f". Nothing to look at had {', '.join(idle)}" if verbose else ", -v names the others"
        notes.append(f"{of_all - len(idle)} of {of_all} rules had something to look at; --rules explains them{rest}")
    return notes
