"""A check as JUnit XML, which every CI shows: a test for each case, and one for the check itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from roofline.comparison.comparison import Comparison
from roofline.comparison.comparison_lines import because
from roofline.comparison.gate import GATE_RULES, Gate
from roofline.comparison.judged_case import Compared
from roofline.comparison.verdict_table import columns
from roofline.show.tables import Column, plain_value
from roofline.text.printable import printable

SUITE = "roofline check"

_ELEMENTS = {1: "failure", 3: "error"}
"""What a test of an exit code has."""

_PROPERTIES = (
    *("verdict", "change", "change_low", "change_high", "confidence", "least_effect"),
    *("base_sessions", "new_sessions"),
)
"""Beside the figure of either side, by its own name."""


def junit(comparison: Comparison | None, gate: Gate) -> str:
    """Make the XML. A case that is worse is a failure, one that could not be compared an error, an inconclusive one
    skipped.

    Verdict, change and interval of a case are properties of its test, by the names of the table's columns. The last
    test fails where the check doesn't pass, for it may be something that is of no case.

    :param comparison: None where nothing was compared.
    """
    tests = [*([] if comparison is None else _tests(comparison, gate)), _whole(gate)]
    counts = {f"{name}s": sum(test.find(name) is not None for test in tests) for name in _ELEMENTS.values()}
    counts["skipped"] = sum(test.find("skipped") is not None for test in tests)
    root = ElementTree.Element("testsuites")
    attributes = {"tests": len(tests), **counts}
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **{of: str(attributes[of]) for of in attributes}})
    suite.extend(tests)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _tests(comparison: Comparison, gate: Gate) -> Iterator[ElementTree.Element]:
    figure, machines = comparison.figure, comparison.machine_names
    names = (*_PROPERTIES, f"base_{figure.column}", f"new_{figure.column}")
    properties = [column for column in columns(comparison) if column.name in names]
    for case in comparison.cases:
        test = _test(case, machines[case.match.machine], properties, gate)
        if case.new is not None and figure.is_time:
            test.set("time", repr(case.new.value))
        yield test


def _test(case: Compared, machine: str, shown: Sequence[Column[Compared]], gate: Gate) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=printable(machine), name=printable(case.match.id))
    properties = ElementTree.SubElement(test, "properties")
    for column in shown:
        value = plain_value(column, case)
        if value is not None:
            ElementTree.SubElement(properties, "property", name=column.name, value=printable(str(value)))
    code = _code(case, gate)
    name = _ELEMENTS.get(code) or ("skipped" if case.outcome == "inconclusive" else None)
    if name is not None:
        ElementTree.SubElement(test, name, message=printable(f"{case.outcome}: {because(case)}"))
    return test


def _code(case: Compared, gate: Gate) -> int:
    """Give the exit code that the case by itself comes to."""
    situation = "invalid before, too" if case.outcome == "invalid" and case.match.invalid_before else case.outcome
    rule = GATE_RULES.get(situation)
    return 0 if rule is None else rule.code(strict=gate.strict, allow_removed=gate.allow_removed)


def _whole(gate: Gate) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=SUITE, name="verdict")
    if gate.exit_code:
        element = ElementTree.SubElement(test, _ELEMENTS[gate.exit_code], message=f"exit code {gate.exit_code}")
        element.text = "\n".join(map(printable, gate.failures))
    return test
