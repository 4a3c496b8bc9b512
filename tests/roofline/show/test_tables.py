"""One table, four forms: raw values for programs, shown ones for people, and a width that is kept."""

import csv
import io
import json
import re
from typing import Any, NamedTuple

import pytest
from rich.cells import cell_len

from roofline.show.render import render
from roofline.show.tables import Column, Format, Table, number, words


class _Row(NamedTuple):
    name: str
    value: float | None
    group: str = "g"


_NAME: Column[_Row] = words("case", get="name")
_VALUE: Column[_Row] = number("value_s", "value", "value", lambda value: f"{value:.1f} s")
_FLAGS: Column[_Row] = words("flags", get=lambda _: ["a", "b"], show=", ".join)
_TRUTH: Column[_Row] = number("ok", get=lambda row: row.value is not None, dtype="boolean")


def _table(*rows: _Row, **changes: Any) -> Table[_Row]:
    values: dict[str, Any] = {
        "title": "Title",
        "columns": (_NAME, _VALUE, _FLAGS, _TRUTH),
        "rows": rows,
        "display": (_NAME, _VALUE, _FLAGS),
        **changes,
    }
    return Table(**values)


_ROWS = (_Row("resnet50-train-b32-fp32", 1.25), _Row("mlp", None))


def test_csv_has_raw_values_of_every_column() -> None:
    """Nothing is rounded; a missing value is empty; a list is one cell; truth is lower case."""
    rows = list(csv.reader(io.StringIO(render(_table(*_ROWS), "csv", 80))))
    assert rows == [
        ["case", "value_s", "flags", "ok"],
        ["resnet50-train-b32-fp32", "1.25", "a; b", "true"],
        ["mlp", "", "a; b", "false"],
    ]


def test_json_has_raw_values_and_names() -> None:
    """Null for a missing value, lists as lists, and it is strict."""
    document = json.loads(render(_table(*_ROWS), "json", 80), parse_constant=pytest.fail)
    assert document[0] == {"case": "resnet50-train-b32-fp32", "value_s": 1.25, "flags": ["a", "b"], "ok": True}
    assert document[1]["value_s"] is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_missing(value: float) -> None:
    """Null, empty or ``-``: strict JSON has no NaN, and whoever reads CSV can't calculate with one."""
    rows = [_Row("x", value)]
    assert json.loads(render(_table(*rows), "json", 80), parse_constant=pytest.fail)[0]["value_s"] is None
    assert list(csv.reader(io.StringIO(render(_table(*rows), "csv", 80))))[1][1] == ""
    assert "| x | - |" in render(_table(*rows), "markdown", 80)
    assert render(_table(*rows), "table", 80).splitlines()[3].split() == ["x", "-", "a,", "b"]


def test_markdown() -> None:
    """The displayed columns, shown; a bar in a value is escaped, an indented note hangs below its own."""
    text = render(_table(_Row("a|b", 1.25), notes=["[1] see", "    a: why"]), "markdown", 80)
    table = "| case | value | flags |\n| --- | ---: | --- |\n| a\\|b | 1.2 s | a, b |\n"
    assert text == f"**Title**\n\n{table}\n- \\[1\\] see\n  - a: why\n"


def test_terminal() -> None:
    """Headings, a rule, numbers to the right, notes below."""
    text = render(_table(*_ROWS, notes=["see this"]), "table", 80)
    assert text.splitlines() == [
        "Title",
        "case                     value  flags",
        "─────────────────────────────────────",
        "resnet50-train-b32-fp32  1.2 s  a, b",
        "mlp                          -  a, b",
        "  see this",
    ]


def test_an_empty_table_has_no_header() -> None:
    """Title and notes say what there is to say."""
    assert render(_table(notes=["nothing"]), "table", 80) == "Title\n  nothing\n"


def test_a_long_key_is_broken_before_columns_are_dropped() -> None:
    """Where 40 columns are short, the id goes on two lines and everything is still there."""
    text = render(_table(_Row("mobilenet_v2-train-b128-torch_default", 1.0)), "table", 40)
    assert text.splitlines()[3:] == [
        "mobilenet_v2-train-b128  1.0 s  a, b",
        "  -torch_default",
    ]
    assert "not shown" not in text


def test_a_long_key_below_a_heading_stays_indented() -> None:
    """As the others are that need no second line."""
    rows = (_Row("mobilenet_v2-train-b128-torch_default", 1.0, "one"), _Row("mlp", 1.0, "one"))
    table = _table(*rows, section=lambda row: row.group, section_title="block")
    assert [line.split("  1.0")[0].rstrip() for line in render(table, "table", 40).splitlines()[3:]] == [
        "one",
        "  mobilenet_v2-train-b128",
        "  -torch_default",
        "  mlp",
    ]


def test_columns_are_dropped_in_their_order_and_named() -> None:
    """The one with the highest number goes first; what is not shown is said."""
    wide = [
        Column(name=f"c{drop}", title=f"column{drop}", get=lambda _: "x" * 12, right=False, drop=drop)
        for drop in (0, 1, 2)
    ]
    text = render(_table(_Row("k", 1.0), columns=(_NAME, *wide), display=(_NAME, *wide)), "table", 40)
    assert "column0" in text.splitlines()[1]
    assert "column1" in text.splitlines()[1]
    assert "column2" not in text.splitlines()[1]
    said = "Columns not shown at this width: column2. Use --width 46 or --format csv"
    assert said in " ".join(text.split())
    table = _table(_Row("k", 1.0), columns=(_NAME, *wide), display=(_NAME, *wide))
    assert "Use --width 46 or all.csv" in " ".join(render(table, "table", 40, complete="all.csv").split())
    assert "Use COLUMNS=46" in " ".join(render(table, "table", 40, complete="", wider="COLUMNS={}").split())


def test_a_column_without_room_takes_its_note_with_it() -> None:
    """One that explains it begins with its heading."""
    table = Table(
        title="t",
        columns=[_NAME, number("more", get=lambda _: "x" * 30, drop=1)],
        rows=[_Row("key" * 5, 1.0)],
        notes=["More: what it is", "Kept: more"],
    )
    for width, there in ((60, True), (40, False)):
        text = render(table, "table", width)
        assert ("More: what it is" in text, "Kept: more" in text) == (there, True)


def test_a_name_of_pytest_breaks_where_its_parts_meet() -> None:
    """Behind the file and before the parameters."""
    wide: Column[_Row] = number("c", get=lambda _: "x" * 20)
    shown = render(_table(_Row("test_speed.py::test_training[16]", 1.0), display=(_NAME, wide)), "table", 40)
    assert [line.split("  ")[0] or line.strip() for line in shown.splitlines()[3:6]] == [
        *("test_speed.py::", "test_training", "[16]")
    ]


def test_the_width_that_is_named_is_the_least_that_shows_everything() -> None:
    """With the key in lines and the shorter texts."""
    columns: list[Column[_Row]] = [
        number("a", get=lambda _: "x" * 20, narrow=lambda text: text[:15], drop=1),
        number("b", get=lambda _: "y" * 20, drop=2),
    ]
    table = _table(_Row("resnet50-train-b32-fp32", 1.0), columns=(_NAME, *columns), display=(_NAME, *columns))
    shown = " ".join(render(table, "table", 40).split())
    told = re.search(r"not shown at this width: b. Use --width (\d+) or --format csv", shown)
    assert told is not None
    assert int(told[1]) == len("resnet50-train") + 2 + 15 + 2 + 20
    assert "not shown" in render(table, "table", int(told[1]) - 1)
    assert "not shown" not in render(table, "table", int(told[1]))


def test_a_key_that_matters_more_keeps_its_width() -> None:
    """Columns that may give way do so before it is broken below that; where none may, it is broken all the same."""
    key = "a" * 10 + "-" + "b" * 10
    drop: Column[_Row] = number("c", get=lambda _: "x" * 20, drop=1)
    stays: Column[_Row] = number("d", get=lambda _: "y" * 18)
    narrow, kept, tight = (
        render(_table(_Row(key, 1.0), display=(_NAME, drop, stays), key_width=width), "table", columns)
        for width, columns in ((14, 56), (21, 56), (21, 36))
    )
    assert f"\n{'a' * 10}" in narrow
    assert "x" * 20 in narrow
    assert key in kept
    assert "Columns not shown" in kept
    assert key not in tight
    assert "Columns not shown" in tight


def test_a_narrow_form_is_used_before_dropping() -> None:
    """A shorter text keeps its column."""
    column: Column[_Row] = words("bound", get=lambda _: "undetermined", narrow=lambda _: "undet.", drop=1)
    table = _table(_Row("a" * 18, 1.0), display=(_NAME, _VALUE, _FLAGS, column))
    assert "undetermined" in render(table, "table", 80)
    narrow = render(table, "table", 42)
    assert "undet." in narrow
    assert "undetermined" not in narrow


def test_sections() -> None:
    """A block has one heading, its rows are indented, and the columns stay in line."""
    rows = (_Row("a", 1.0, "first"), _Row("b", 2.0, "first"), _Row("c", 33.0, "second"))
    table = _table(*rows, display=(_NAME, _VALUE), section=lambda row: row.group, section_title="block")
    assert render(table, "table", 80).splitlines() == [
        "Title",
        "case   value",
        "────────────",
        "first",
        "  a    1.0 s",
        "  b    2.0 s",
        "second",
        "  c   33.0 s",
    ]
    assert "| first | b | 2.0 s |" in render(table, "markdown", 80).splitlines()
    assert "| block | case | value |" in render(table, "markdown", 80).splitlines()


def test_a_long_note_hangs() -> None:
    """What doesn't fit stands below, further in; a word with dashes is not broken."""
    text = render(_table(notes=["[1] flag", "    resnet50-train: the quick brown fox jumps"]), "table", 40)
    assert text.splitlines()[1:] == [
        "  [1] flag",
        "      resnet50-train: the quick brown",
        "        fox jumps",
    ]


def test_a_command_in_a_note_can_be_copied() -> None:
    """It is whole, on a line of its own: that of a note, and that which has the columns left out."""
    command = f"roofline summary results/{'long-' * 12}label/20261130T222355Z-9049ed28.json"
    wide: Column[_Row] = number("more", get=lambda _: "x" * 40, drop=1)
    table = _table(_Row("key", 1.0), display=(_NAME, wide), notes=[f"Evidence of each case: {command} -v"])
    assert render(table, "table", 40, complete=command, wider="COLUMNS={}").splitlines()[-5:] == [
        "  Evidence of each case:",
        f"    {command} -v",
        "  Columns not shown at this width:",
        "    more. Use COLUMNS=46 or",
        f"    {command}",
    ]


@pytest.mark.parametrize("width", range(40, 100, 10))
def test_no_figure_is_cut_off(width: int) -> None:
    """However long a key without a dash is: it is broken anywhere, and what doesn't fit goes and is named."""
    names = ("change", "interval", "verdict", "base", "new")
    columns: list[Column[str]] = [Column(name="case", title="case", get=str, right=False)]
    columns += [Column(name=name, title=name, get=lambda _row: "+1150.75 %") for name in names]
    key = "test_training_step[resnet50_imagenet_batch64_amp_bf16_channels_last_compile]"
    text = render(Table(title="t", columns=columns, rows=[key, "核" * 30]), "table", width)
    head, _, note = text.partition("Columns not shown")
    shown = [name for name in names if name in head]
    assert shown == list(names[: len(shown)])
    assert all(name in note for name in names[len(shown) :])
    assert head.count("+1150.75 %") == 2 * len(shown)
    assert key in "".join(line.split(" +")[0].strip() for line in head.splitlines())
    assert all(cell_len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize(("form", "times"), [("table", 4), ("markdown", 4), ("csv", 1), ("json", 0)])
def test_what_a_terminal_would_obey_is_escaped(form: Format, times: int) -> None:
    """In title, section, cell and note; JSON has escapes of its own, from which a program gets the name as it was."""
    name = "a\x1b\u202e\nb"
    table = _table(_Row(name, 1.0, name), title=name, notes=[name], section=lambda row: row.group, section_title="s")
    text = render(table, form, 80)
    assert text.replace("\n", "").isprintable()
    shown = r"a\\x1b\\u202e\\nb" if form == "markdown" else r"a\x1b\u202e\nb"
    assert text.count(shown) == times
    assert (json.loads(text)[0]["case"] if form == "json" else name) == name


def test_a_line_break_that_showing_makes_stays() -> None:
    """A cell may have several lines, and a list an item on each; a line break in the value makes none."""
    lines: Column[list[str]] = words("c", get=list, show="\n".join)
    table = Table(title="t", columns=[lines], rows=[["one\ntwo", "three"]])
    assert render(table, "table", 80).splitlines()[3:] == [r"one\ntwo", "three"]


@pytest.mark.parametrize("note", ["核" * 50, "核核 " * 20, "e\u0301" * 100, "    " + "核 e\u0301e\u0301 " * 30])
@pytest.mark.parametrize("width", [40, 80, 100])
def test_a_note_of_wide_letters_keeps_the_width(note: str, width: int) -> None:
    """Counted in columns of the terminal, of which some letters take two and others none."""
    lines = render(_table(notes=[note]), "table", width).splitlines()[1:]
    assert len(lines) > 1
    assert all(cell_len(line) <= width for line in lines)
    assert max(map(cell_len, lines)) > width - 10


@pytest.mark.parametrize("form", ["csv", "markdown"])
def test_text_is_escaped_for_its_format(form: Format) -> None:
    """A name may be a formula and an image; a number below zero stays one."""
    text = render(_table(_Row("=1<img>", -1.5, "g")), form, 80)
    assert ("'=1<img>" if form == "csv" else "=1&lt;img>") in text
    assert "-1.5" in text
    assert "'-1.5" not in text
