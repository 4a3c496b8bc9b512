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


def test_machines_of_one_label_keep_an_entry_each() -> None:
    """The same machine's is replaced, whatever work it was of, and another's stays."""
    first, second = locked("b", fingerprint="one", workload_hash="old"), locked("b", fingerprint="two")
    text = text_of([first, second])
    assert [entry.fingerprint for entry in parse(text, "e.toml")] == ["one", "two"]
    again = text_of([locked("b", None, fingerprint="one", workload_hash="new")], text, "e.toml")
    assert [(entry.fingerprint, entry.workload_hash, entry.min_fraction_of_roof) for entry in parse(again, "")] == [
        ("one", "new", None),
        ("two", "*", 0.25),
    ]


def test_an_entry_of_any_machine_stays() -> None:
    """It was meant for others, too."""
    text = text_of([locked("b", fingerprint="one")], HAND, "e.toml")
    assert text.startswith(HAND)
    assert parse(text, "e.toml")[-1].fingerprint == "one"


def test_names_are_quoted() -> None:
    """Whatever a label or a test's name holds."""
    name = 'a "quoted" \\ name\nof two lines é'
    (entry,) = parse(text_of([locked(name, device=name)]), "e.toml")
    assert (entry.case, entry.device) == (name, name)


def test_what_cannot_be_seen_is_escaped() -> None:
    """TOML refuses U+007F as it is, in strings and in comments; others would end a line or hide from a reader."""
    name = "a\x7f\u2028\u202e\U000e0001 é核"
    text = text_of([Locked(expected=locked(name).expected, evidence=("from s\x7f\u202e.json",))])
    assert text.replace("\n", "").isprintable()
    assert 'case = "a\\U0000007F\\U00002028\\U0000202E\\U000E0001 é核"' in text
    assert parse(text, "e.toml")[0].case == name


def test_a_file_that_cannot_be_taken_apart_is_left_alone() -> None:
    """With a bad value, or written as inline tables."""
    with pytest.raises(ExpectedFileError, match=r"e\.toml:1: bound is 'cpu'; use one of"):
        text_of([locked("a")], "[[expected]]\ncase = 'a'\nbound = 'cpu'\n", "e.toml")
    with pytest.raises(ExpectedFileError, match=r"e\.toml: can't be added to: not every entry begins with a line"):
        text_of([locked("a")], "expected = [{ case = 'a', bound = 'input' }]", "e.toml")


def test_a_text_that_could_not_be_read_is_not_given_out() -> None:
    """So that a good file is never replaced by it."""
    with pytest.raises(ExpectedFileError, match=r"e\.toml: left as it was: .*case is ' '"):
        text_of([locked(" ")], HAND, "e.toml")
