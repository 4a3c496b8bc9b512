"""A check as JUnit XML, which every CI shows: a test for each case, and one for the check itself."""

from __future__ import annotations

from xml.etree import ElementTree

from roofline.comparison.comparison import Compared, Comparison
from roofline.comparison.gate import GATE_RULES, Gate
from roofline.comparison.verdict_table import columns
from roofline.show.tables import plain_value
from roofline.text.printable import printable

SUITE = "roofline check"

_ELEMENTS = {1: "failure", 3: "error"}
"""What a test of an exit code has."""

_PROPERTIES = (
    *("verdict", "change", "change_low", "change_high", "confidence", "least_effect"),
    *("base_step_time_s", "new_step_time_s", "base_sessions", "new_sessions"),
)


def junit(comparison: Comparison | None, gate: Gate) -> str:
    """Make the XML. A slower case is a failure, one that could not be compared an error, an inconclusive one skipped.

    Verdict, change and interval of a case are properties of its test, by the names of the table's columns. The last
    test fails where the check doesn't pass, for it may be something that is of no case.

    :param comparison: None where nothing was compared.
    """
    cases = () if comparison is None else comparison.cases
    tests = [*(_test(comparison, case, gate) for case in cases if comparison is not None), _whole(gate)]
    counts = {f"{name}s": sum(test.find(name) is not None for test in tests) for name in _ELEMENTS.values()}
    counts["skipped"] = sum(test.find("skipped") is not None for test in tests)
    root = ElementTree.Element("testsuites")
    attributes = {"tests": len(tests), **counts}
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **{of: str(attributes[of]) for of in attributes}})
    suite.extend(tests)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _test(comparison: Comparison, case: Compared, gate: Gate) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=printable(case.match.machine.label), name=printable(case.match.id))
    if case.new is not None:
        test.set("time", repr(case.new.step_time_s))
    properties = ElementTree.SubElement(test, "properties")
    for column in columns(comparison):
        value = plain_value(column, case) if column.name in _PROPERTIES else None
        if value is not None:
            ElementTree.SubElement(properties, "property", name=column.name, value=printable(str(value)))
    code = _code(case, gate)
    name = _ELEMENTS.get(code) or ("skipped" if case.outcome == "inconclusive" else None)
    if name is not None:
        ElementTree.SubElement(test, name, message=printable(f"{case.outcome}: {case.why}"))
    return test


def _code(case: Compared, gate: Gate) -> int:
    """What the case by itself comes to."""
    situation = "invalid before, too" if case.outcome == "invalid" and case.match.invalid_before else case.outcome
    rule = GATE_RULES.get(situation)
    return 0 if rule is None else rule.code(strict=gate.strict, allow_removed=gate.allow_removed)


def _whole(gate: Gate) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=SUITE, name="verdict")
    if gate.exit_code:
        element = ElementTree.SubElement(test, _ELEMENTS[gate.exit_code], message=f"exit code {gate.exit_code}")
        element.text = "\n".join(map(printable, gate.failures))
    return test
