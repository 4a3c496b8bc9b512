"""Write docs/reference.md from the code: ``python -m docs.reference``.

Commands come from click, flags from the tables of settings, columns from `roofline.show.columns`, fields from the
record, rules from the audit. A test holds the page equal to what this module gives.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click

from perftests.suite_options import SETTINGS as SUITE_SETTINGS
from pytest_roofline.fixture import Roofline
from pytest_roofline.options import GENERAL_MARKERS, MARKERS, SETTINGS
from pytest_roofline.settings import Setting
from roofline.api import devices
from roofline.audits.layouts import PLAIN, UNITS
from roofline.audits.rules import RULES
from roofline.cli import program as cli
from roofline.comparison.gate import GATE_RULES, WARNING
from roofline.frames import Results
from roofline.model import point_flags
from roofline.schema import expected, record, session
from roofline.show.columns import CASE_COLUMNS, MEANINGS
from roofline.show.render import one_line
from roofline.text.units import unit_of
from roofline.timing import round_flags
from tests.golden import corpus

PAGE = Path(__file__).with_name("reference.md")

SHARED_BY = 5
"""An option that so many commands have alike is described once for all of them."""


def reference() -> str:
    """Return the whole page."""
    parts = [
        "# Reference",
        "Written by `python -m docs.reference` from the code; a test holds it equal.",
        *_commands(),
        "## Exit codes",
        _exit_codes(),
        "Names are safe: a terminal gets control characters as escapes (`\\x1b`), Markdown gets text without links "
        "or HTML, and CSV has an apostrophe before a text that a spreadsheet would run. JSON has the name itself.",
        "## Situations of the gate",
        "What a gate may find, and the exit code that it comes to, by default and with an option. All else passes.",
        _table(("situation", "exit code", "`--strict`", "`--allow-removed`", "meaning"), _situations()),
        "## Environment variables",
        "- `ROOFLINE_CACHE`: folder in which measured roofs are kept.\n"
        "- `ROOFLINE_ROOFS`: `auto`, `measure` or `off`, as `--roofline-roofs`.\n"
        "- `ROOFLINE_NCU`, `ROOFLINE_NSYS`, `ROOFLINE_PERF`: the programs to use.",
        "## Flags of pytest",
        "A value comes from the flag, else from the ini option `roofline_NAME`, else from the environment variable "
        "where one is named. This repository's suite also takes each flag without `roofline-` (`--device`).",
        _settings(SETTINGS, long=True),
        "Flags of this repository's suite, which choose cases and data:",
        _settings(SUITE_SETTINGS, long=False),
        "## Markers and fixture",
        "\n".join(f"- `{name}`: {text.strip()}" for name, _, text in map(_marker, MARKERS)),
        "With the ini option `roofline_markers = true` also these. A test that measures gets that of its device; the "
        "others are yours to set:",
        "\n".join(f"- `{name}`: {text.strip()}" for name, _, text in map(_marker, GENERAL_MARKERS)),
        f"The fixture is called as `roofline{_signature()}`.",
        _docstring(Roofline.__call__),
        "## Columns",
        "Of `roofline points` and `metrics` (CSV, JSON) and of `rl.load(...).cases`, with the record's field that a "
        "value is from, or what it says.",
        _table(("column", "title", "unit", "from or meaning"), map(_column, CASE_COLUMNS)),
        "Other frames of `rl.load(...)`, and `rl.devices()`, with units:",
        _table(("frame", "columns"), _frames()),
        "Of other commands (CSV, JSON, Parquet), with units:",
        _table(("command", "columns"), _tables()),
        "## Flags",
        "Doubts about a row's figures. `roofline summary -v` has the evidence of each.",
        _table(("flag", "meaning"), _flags()),
        "## Fields of the record",
        "`extra_info.roofline` of each benchmark in a results file is a *Record*, `machine_info.roofline` a *Machine*, "
        "and the key `roofline` of the file a *Session*.",
        *_records(),
        "## Rules of the audit",
        "Printed digits are read as intervals: a contradiction is what no values behind them explain. A figure is held "
        "against a count where the model is known: torchvision's 80 classification models, BERT-base, this suite's MLP "
        "and CNN, and 489 of timm's models. A stated image or sequence size needs the count of that size, and stated "
        "parameters have to agree to 1 %.",
        _table(
            ("rule", "tolerance", "finds", "meaning"),
            (
                (
                    f"`{rule.name}`",
                    "" if rule.tolerance is None else f"{rule.tolerance:.2g}",
                    rule.title,
                    rule.meaning,
                )
                for rule in RULES
            ),
        ),
        "## Columns of an audited table",
        "A CSV needs at least one of the figures. Capitals, blanks and signs make no difference: `Images/s` is "
        f"`images_s`. A unit stands in the name: {'; '.join(_quoted(units) for units in UNITS)}. A deviation may be "
        "`std`, `sd` or `stddev`; a percentile may have `latency` before or behind it. Other columns are named and "
        "left alone. timm's benchmark tables are read as they are.",
        _table(("figure", "columns"), _audited()),
    ]
    return "\n\n".join(parts) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(heads), ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _docstring(thing: Any) -> str:
    """Return a docstring as Markdown: its parameters become a list."""
    text = inspect.cleandoc(thing.__doc__ or "").replace("``", "`")
    return re.sub(r"^:(?:param |)(\w+)(?: (\w+))?:", r"- `\1 \2`:", text, flags=re.MULTILINE).replace(" `:", "`:")


def _commands() -> Iterator[str]:
    found = dict(_leaves(cli.program, "roofline"))
    shared = Counter(option for command in found.values() for option in _options(command))
    common = [option for option, count in shared.items() if count >= SHARED_BY]
    yield "## Commands"
    yield "Options that many commands have:"
    yield _table(("option", "meaning"), common)
    for name, command in found.items():
        arguments = " ".join(param.make_metavar(_context(command)) for param in command.params if _is_argument(param))
        yield f"### {name}"
        yield f"`{' '.join([name, '[OPTIONS]', arguments]).strip()}`: {_one_line(command.get_short_help_str(1000))}"
        if own := [option for option in _options(command) if option not in common]:
            yield _table(("option", "meaning"), own)


def _leaves(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands that have no commands below them, by what a user writes."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _context(command: click.Command) -> click.Context:
    return click.Context(command, terminal_width=10_000)


def _is_argument(param: click.Parameter) -> bool:
    return isinstance(param, click.Argument)


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    for param in command.params:
        if isinstance(param, click.Option) and (shown := param.get_help_record(_context(command))) is not None:
            names, text = shown
            yield f"`{names}`", _one_line(text)


_EXIT_CODES_OF_PYTEST = """Of pytest its own; of several sessions the worst, in this order:

- 3: pytest broke, or a session crashed
- 4: asked for wrongly, or nothing to compare: no baseline, another machine, nothing measured, a case removed or changed
- 2: interrupted; the gate isn't asked
- 1: a test failed, or a case is slower than the baseline
- 5: no test was collected
- 0: every test passed, and the gate, where there is one

A run with a gate makes 4 of the 2 and 3 that `roofline check` ends with, since pytest's 3 says that pytest broke."""


def _exit_codes() -> str:
    """Return the codes as the program's docstring has them."""
    (codes,) = re.findall(r"^Exit codes: (.*?)\n\n", f"{cli.__doc__}\n\n", re.DOTALL | re.MULTILINE)
    return f"Of the command `roofline`: {_one_line(codes)}\n\n{_EXIT_CODES_OF_PYTEST}"


def _situations() -> Iterator[tuple[str, ...]]:
    for name, rule in GATE_RULES.items():
        codes = (rule.default, rule.strict, rule.allow_removed)
        words = ("" if code is None else "warning" if code == WARNING else str(code) for code in codes)
        yield name, *words, rule.meaning


def _settings(settings: Iterable[Setting], *, long: bool) -> str:
    def row(setting: Setting) -> tuple[str, str]:
        value = "" if setting.switch else setting.metavar or setting.name.upper()
        value = f"[={value}]" if setting.bare else f" {value}".rstrip()
        variable = f" Variable: `{setting.variable}`." if setting.variable else ""
        return f"`{setting.flag if long else setting.short_flag}{value}`", _one_line(setting.help % ()) + variable

    return _table(("flag", "meaning"), map(row, settings))


def _marker(text: str) -> tuple[str, str, str]:
    return text.partition(":")


def _signature() -> str:
    """Return the names of the arguments, without their types."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in inspect.signature(Roofline.__call__).parameters.items()
        if name != "self"
    ]
    return str(inspect.Signature(parameters))


def _column(column: Any) -> tuple[str, str, str, str]:
    unit = unit_of(column.name)
    if column.path.startswith("record."):
        value = f"`{column.path.removeprefix('record.')}`"
    elif column.path:
        value = ""
    else:  # What a function works out, it says in its docstring.
        value = _one_line((column.get.__doc__ or "").partition("\n\n")[0])
    value = MEANINGS.get(column.name, value)
    return f"`{column.name}`", one_line(column.title), unit or "", value


def _flags() -> Iterator[tuple[str, str]]:
    """Yield the flags and what they mean, from the lists of the docstrings where they are made."""
    for made in (record.Flag, round_flags, point_flags):
        text = inspect.cleandoc(made.__doc__ or "").replace("``", "`")
        for name, meaning in re.findall(r"^- (.+?): (.+?)(?=\n- |\n\n|\Z)", text, flags=re.MULTILINE | re.DOTALL):
            yield name, _one_line(meaning)


def _frames() -> Iterator[tuple[str, str]]:
    """Yield the name of each frame whose columns are the same whatever was read, and these."""
    nothing = Results(())
    frames = {name: getattr(nothing, name) for name in ("rounds", "operations", "kernels", "roofs", "missing")}
    for name, frame in {**frames, "devices": devices()}.items():
        yield f"`{name}`", _with_units(frame.columns)


_SHOWN = {
    "compare": "compare-one",
    "check NEW --baseline BASE": "check-one",
    "check NEW --expect": "check-expect-cuda",
    "machines": "machines-three",
    "history": "history-quiet",
    "history --by point": "history-points",
    "sessions": "sessions-quiet",
    "ops RESULT": "ops-all",
    "ops RESULT CASE": "ops-operations",
    "ops RESULT CASE --by kind": "ops-kinds",
    "ops RESULT CASE --by kernel": "ops-kernels",
    "ops RESULT CASE --by counters": "ops-counters",
    "ncu": "ncu-raw",
    "nsys": "nsys-export",
    "trace": "trace-one",
    "audit": "audit-pooled",
}
"""Commands as users know them, each with one of the golden corpus that shows all of its columns."""


def _tables() -> Iterator[tuple[str, str]]:
    """Yield each command with the columns of its JSON; of several tables, each with its own."""
    commands = corpus.commands()
    with corpus.inputs():
        for shown, name in _SHOWN.items():
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(io.StringIO()):
                cli.main([*commands[name], "--format", "json"])
            rows = json.loads(out.getvalue())
            for table in dict.fromkeys(row.get("table") for row in rows):
                own = next(row for row in rows if row.get("table") == table)
                yield f"`{shown}`{f' table `{table}`' if table else ''}", _with_units(own)


def _with_units(columns: Iterable[str]) -> str:
    return ", ".join(f"`{column}`{f' ({unit})' if (unit := unit_of(column)) else ''}" for column in columns)


def _audited() -> Iterator[tuple[str, str]]:
    """Yield what a table may state, and the names of its column: in the first unit, and of some spellings the first."""
    names: dict[str, list[str]] = {}
    for name, field in PLAIN.words.items():
        names.setdefault(field, []).append(name)
    for name, column in PLAIN.numbers.items():
        other_unit = column.factor != 1 and column.field != "parameter_count"
        other_spelling = re.search("_sd|_stddev" if column.share is None else "latency", name)
        if not other_unit and not other_spelling:
            names.setdefault(column.field, []).append(name)
    for field, columns in names.items():
        yield f"`{field}`", _quoted(columns)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _records() -> Iterator[str]:
    """Yield a heading, the meaning and the fields of each class of the record."""
    for module in (record, session, expected):
        said = _said_of_fields(module)
        for name, kind in vars(module).items():
            if is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.__name__:
                yield f"### {name}"
                yield _docstring(kind).partition("\n\nThose that the measuring side")[0]
                yield _table(
                    ("field", "type", "meaning"),
                    ((f"`{one.name}`", _type(str(one.type)), said.get((name, one.name), "")) for one in fields(kind)),
                )


def _type(text: str) -> str:
    """Return a type in words: ``tuple[float, ...] | None`` is a list of float, or null."""
    plain = re.sub(r"tuple\[(.+), \.\.\.\]", r"list of \1", text).replace("Whole", "int")
    return plain.replace(" | None", " or null")


def _said_of_fields(module: Any) -> dict[tuple[str, str], str]:
    """Return the texts below the fields of a module's classes, by class and field."""
    found = {}
    for kind in ast.parse(inspect.getsource(module)).body:
        if isinstance(kind, ast.ClassDef):
            for before, after in zip(kind.body, kind.body[1:], strict=False):
                if (
                    isinstance(before, ast.AnnAssign)
                    and isinstance(before.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                ):
                    found[kind.name, before.target.id] = _one_line(str(after.value.value))
    return found


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
