"""The file that is written can be read, keeps what others wrote, and doesn't change by itself."""

from typing import Any

import pytest

from roofline.expectations.lock_file import text_of
from roofline.expectations.locking import Locked
from roofline.schema.expected import Expected
from roofline.schema.expected_file import ExpectedFileError, parse

HAND = """# By hand.

# Of the lab's card.
# Two lines.
[[expected]]
device = "cuda"
case = "resnet18-*"   # all of them
bound = "memory"

[[expected]]
device = "here"
case = "b"
bound = "launch"

# Last words.
"""


def locked(case: str, floor: float | None = 0.25, device: str = "here", **of: Any) -> Locked:
    expected = Expected(bound="compute", min_fraction_of_roof=floor, case=case, device=device, source="", **of)
    return Locked(expected=expected, evidence=("Locked from 1 session (s.json).", "above the\nknee"))


def test_what_others_wrote_is_kept() -> None:
    """The same machine's same case is replaced in its place, a new one comes last, the rest stays to the letter."""
    text = text_of([locked("a"), locked("b")], HAND, "e.toml")
    assert [(entry.device, entry.case, entry.bound) for entry in parse(text, "e.toml")] == [
        ("cuda", "resnet18-*", "memory"),
        ("here", "b", "compute"),
        ("here", "a", "compute"),
    ]
    first, _, _ = HAND.partition('[[expected]]\ndevice = "here"')
    assert text.startswith(first)
    assert "launch" not in text


def _of(text: str) -> list[tuple[str, str | None]]:
    """Fingerprint and bound of each entry."""
    return [(entry.fingerprint, entry.bound) for entry in parse(text, "e.toml")]


def test_machines_of_one_label_keep_an_entry_each() -> None:
    """The same machine's is replaced, whatever work it was of, and another's stays."""
    first, second = locked("b", fingerprint="one", workload_hash="old"), locked("b", fingerprint="two")
    text = text_of([first, second])
    assert _of(text) == [("one", "compute"), ("two", "compute")]
    again = text_of([locked("b", None, fingerprint="one", workload_hash="new")], text, "e.toml")
    assert [(entry.fingerprint, entry.workload_hash, entry.min_fraction_of_roof) for entry in parse(again, "")] == [
        ("one", "new", None),
        ("two", "*", 0.25),
    ]


def test_an_entry_of_any_machine_is_replaced_by_the_first_that_has_none() -> None:
    """Where each of the machines has one, it stays: then it was meant for others, too."""
    one, two = locked("b", fingerprint="one"), locked("b", fingerprint="two")
    text = text_of([one, two], HAND, "e.toml")
    assert _of(text) == [("*", "memory"), ("one", "compute"), ("two", "compute")]
    beside = text + '\n[[expected]]\ndevice = "here"\ncase = "b"\nbound = "launch"\n'
    assert _of(text_of([one, two], beside, "e.toml")) == [*_of(text), ("*", "launch")]
    assert text_of([one, two], text, "e.toml") == text


def test_names_are_quoted() -> None:
    """Whatever a label or a test's name holds."""
    name = 'a "quoted" \\ name\nof two lines é'
    (entry,) = parse(text_of([locked(name, device=name)]), "e.toml")
    assert (entry.case, entry.device) == (name, name)


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(mark: str) -> None:
    """In what others wrote, what Python takes for the end of a line stays within its comment, and is no header."""
    before = f'# one{mark}[[expected]]\n[[expected]]\ncase = "x{mark}y"\nbound = "input"\n'
    text = text_of([locked("a")], before, "e.toml")
    assert text.startswith(before)
    assert [entry.case for entry in parse(text, "e.toml")] == [f"x{mark}y", "a"]
    assert parse(before, "e.toml")[0].source == "e.toml:2"


def test_what_cannot_be_seen_is_escaped() -> None:
    """TOML refuses U+007F as it is, in strings and in comments; others would end a line or hide from a reader."""
    name = "a\x7f\x85\u2028\u202e\uffff\U000e0001 é核"
    evidence = Locked(expected=locked(name).expected, evidence=("from s\x7f\u202e.json",))
    text = text_of([evidence])
    assert text.replace("\n", "").isprintable()
    assert 'case = "a\\u007F\\u0085\\u2028\\u202E\\uFFFF\\U000E0001 é核"' in text
    assert "# from s\\x7f\\u202e.json" in text
    assert parse(text, "e.toml")[0].case == name


def test_a_text_that_could_not_be_read_is_not_given_out() -> None:
    """So that a good file is never replaced by it."""
    with pytest.raises(ExpectedFileError, match=r"e\.toml: left as it was: .* \(e\.toml:19: case is ' '; .*\)"):
        text_of([locked(" ")], HAND, "e.toml")


def test_a_file_that_cannot_be_taken_apart_is_left_alone() -> None:
    """With a bad value, or written as inline tables."""
    with pytest.raises(ExpectedFileError, match=r"e\.toml:1: bound is 'cpu'; use one of"):
        text_of([locked("a")], "[[expected]]\ncase = 'a'\nbound = 'cpu'\n", "e.toml")
    with pytest.raises(ExpectedFileError, match=r"e\.toml: can't be added to: not every entry begins with a line"):
        text_of([locked("a")], "expected = [{ case = 'a', bound = 'input' }]", "e.toml")
