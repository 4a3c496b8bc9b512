"""Reading expected_bounds.toml, and finding it beside tests."""

from pathlib import Path

import pytest

from roofline.schema.expected import Expected
from roofline.schema.expected_file import ExpectedFileError, beside, parse, read

GOOD = """# What is expected.

[[expected]]
case = "resnet18-*"
device = "cpu"
bound = "compute"

[[expected]]
case = "mlp-*"
min_fraction_of_speed_of_light = 0.1
"""


def test_entries_know_where_they_stand(tmp_path: Path) -> None:
    """File and line of the header are the source of each."""
    path = tmp_path / "e.toml"
    path.write_text(GOOD)
    assert read(path) == (
        Expected(bound="compute", case="resnet18-*", device="cpu", source=f"{path}:3"),
        Expected(min_fraction_of_speed_of_light=0.1, case="mlp-*", source=f"{path}:8"),
    )


def test_an_array_of_inline_tables_is_read_as_well() -> None:
    """Then all stand in line 1, for the headers that tell lines are not there."""
    (only,) = parse('expected = [{ case = "a", bound = "launch" }]', "e.toml")
    assert only == Expected(bound="launch", case="a", source="e.toml:1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[expected]\n", "e.toml: not TOML ("),
        ("x = " + "[" * 5000, "e.toml: TOML that can't be read ("),
        ("", "e.toml: expected [[expected]] tables and nothing else, found none. Give a TOML file of [[expected]]"),
        ("[expected]\ncase = 'a'\n", "e.toml: expected [[expected]] tables and nothing else, found none."),
        (GOOD + "[other]\n", "e.toml: expected [[expected]] tables and nothing else, found other."),
        ("expected = [1]", "e.toml:1: expected a table, found 1."),
        ("[[expected]]\nbound = 'compute'\n", "e.toml:1: no case; give the id of one, or a pattern such as"),
        ("\n[[expected]]\ncase = 'a'\nbound = 'cpu'\n", "e.toml:2: bound is 'cpu'; use one of compute, memory,"),
        ("[[expected]]\ncase = 3\nbound = 'input'\n", "e.toml:1: case is 3; use a text"),
        ("[[expected]]\ncase = 'a'\nbound = 'input'\nroofs = { fp32 = 0 }\n", "e.toml:1: roofs is {'fp32': 0}; use"),
        ("[[expected]]\ncase = 'a'\nbound = 'input'\nroofs = 3\n", "e.toml:1: roofs is 3; use"),
    ],
)
def test_a_bad_file_says_what_and_where(text: str, message: str) -> None:
    """File, line, key, value and what is allowed."""
    with pytest.raises(ExpectedFileError) as caught:
        parse(text, "e.toml")
    assert str(caught.value).startswith(message)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """And one that is no text."""
    with pytest.raises(ExpectedFileError, match=r"none\.toml: can't be read \(No such file"):
        read(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    with pytest.raises(ExpectedFileError, match=r"b\.toml: not UTF-8 text \(byte 0\)\. Give a TOML file"):
        read(tmp_path / "b.toml")


def test_the_nearest_file_above_the_tests_counts(tmp_path: Path) -> None:
    """The folder of a test first, then those around it, up to the root."""
    deep = tmp_path / "suite" / "deep"
    deep.mkdir(parents=True)
    tests = ["suite/deep/test_a.py::test_one[a/b]"]
    assert beside(tests, tmp_path) is None
    top = tmp_path / "expected_bounds.toml"
    top.touch()
    assert beside(tests, tmp_path) == top
    near = tmp_path / "suite" / "expected_bounds.toml"
    near.touch()
    assert beside(tests, tmp_path) == near
