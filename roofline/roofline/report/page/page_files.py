"""Write the page of a report: index.html, and beside it the scripts and data that it loads from disk.

Data leave out what the scripts can make: texts of a value and its unit. compact.js adds them again.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from roofline.comparison.comparison import Comparison
from roofline.files.writing import Write, utf8, write_bytes
from roofline.model.points import Point
from roofline.report.page.cells import DIGITS, Data
from roofline.report.page.page_data import NO_PRICES, PageData
from roofline.text.units import percent_of, scaled, unit_of

PAGE = "index.html"
BESIDE = "page"
"""Folder of everything that the page loads."""
_OWN = ("page.css", "compact.js", "packed.js", "tables.js", "charts.js", "rooflines.js", "toggles.js", "page.js")
"""Our own files, scripts in the order in which they run."""
_BITS, _FIRST = 15, 0x3400
"""Bits in a character of a data script, and the character of 0; packed.js has them, too."""


class LacksPageLibraries(Exception):
    """The page can't be made: a package for it isn't installed. The message says how to install it."""


def write_page(
    points: Sequence[Point],
    folder: Path,
    comparison: Comparison | None = None,
    prices: Mapping[str, float] = NO_PRICES,
    write: Write = write_bytes,
    baseline: Sequence[Point] = (),
) -> list[Path]:
    """Write the page of these points; returns the path to open.

    A browser opens it from disk: it loads its data as scripts, since it may fetch no file there.

    :param points: of all results.
    :param comparison: of them with a baseline.
    :param prices: of machines by the hour, by their labels.
    :param baseline: the results of the baseline.
    :raises LacksPageLibraries: jinja2 or plotly isn't installed.
    :raises OSError: a file can't be written.
    """
    try:
        import jinja2

        library = files("plotly") / "package_data" / "plotly.min.js"
    except ImportError as error:
        raise LacksPageLibraries("The page needs jinja2 and plotly: pip install 'pytest-roofline[report]'") from error
    data, beside = PageData(points, comparison, prices, baseline), folder / BESIDE
    own = files("roofline.report.page") / "assets"
    for name in _OWN:
        write(beside / name, (own / name).read_bytes())
    plotly = library.read_text(encoding="utf-8")
    for name, content in chain([("plotly", plotly)], _chunks(data)):
        write(beside / "data" / f"{name}.js", script_of(name, content))
    template = jinja2.Environment(autoescape=True).from_string((own / f"{PAGE}.j2").read_text(encoding="utf-8"))
    page = template.render(
        title=data.title,
        runs=data.runs,
        beside=BESIDE,
        scripts=[*(name for name in _OWN if name.endswith(".js")), "data/overview.js"],
        styles=[one for one in _OWN if "css" in one],
        plotly_hash=base64.b64encode(hashlib.sha256(plotly.encode()).digest()).decode(),
    )
    write(folder / PAGE, utf8(page))
    return [folder / PAGE]


def _chunks(data: PageData) -> Iterator[tuple[str, Data | list[Data] | list[list[Data]]]]:
    yield "overview", data.overview()
    if (comparison := data.comparison()) is not None:
        yield "comparison", comparison
    for number, machine in enumerate(data.machines()):
        yield f"machine-{number}", machine
    for number, rounds in enumerate(data.rounds()):
        if rounds is not None:
            yield f"rounds-{number}", rounds
    for number, history in enumerate(data.histories()):
        if history is not None:
            yield f"history-{number}", history
    yield "environments", data.environments()
    if sessions := data.sessions():
        yield "sessions", sessions
    for number, of_script in enumerate(data.case_scripts()):
        yield f"cases-{number}", of_script


def script_of(name: str, content: str | Data | list[Data] | list[list[Data]]) -> bytes:
    """A script that hands the page its data: compressed JSON, as the number of its bytes and a text.

    Each character of the text has 15 bits, from U+3400 on: none ends a text or a line. UTF-16, which the mark at the
    beginning tells, takes 16 bits for it; base64 would take a quarter more.
    """
    import numpy as np

    text = json.dumps(packed([compacted(content)]), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = gzip.compress(utf8(text), mtime=0)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    whole = np.pad(bits, (0, -len(bits) % _BITS)).reshape(-1, _BITS)
    characters = (_FIRST + whole @ (1 << np.arange(_BITS)[::-1])).astype("<u2").tobytes()
    before, after = f'\ufeffroofline.add("{name}", {len(data)}, "', '");\n'
    return before.encode("utf-16-le") + characters + after.encode("utf-16-le")


def packed(values: Sequence[Any]) -> Data:
    """Put JSON values of one kind into columns, in which compression finds what they share; packed.js undoes it.

    Dicts become a column for each key, with who has it; lists their lengths and one column of all their items.
    """
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    made: Data
    if kinds == {dict}:
        keys = dict.fromkeys(key for value in known for key in value)
        own = {key: [value[key] for value in known if key in value] for key in keys}
        made = {"keys": [(key, packed([key in value for value in known]), packed(own[key])) for key in keys]}
    elif kinds == {list}:
        items = [item for value in known for item in value]
        made = {"lengths": packed([len(value) for value in known]), "items": packed(items)}
    elif values and all(value == values[0] and type(value) is type(values[0]) for value in values):
        return {"all": values[0]}
    else:
        return {"each": values}
    return made if len(known) == len(values) else {"known": packed([value is not None for value in values]), **made}


_LEAST_DIGIT, _MOST_APART = -300, 9
"""Powers of ten that numbers have: those of the last digits, and how far they lie apart in whole numbers of 53 bits."""

_OFF_HALF = 1 + 1e-12
"""Takes a value that lies halfway between two texts off there, where Python rounds to even and JavaScript up."""


def compacted(content: Any) -> Any:
    """Make tables and readings of rounds shorter, at any depth.

    A table has ``texts`` in place of ``shown``: of each column by its place, with null for what is made of its value
    and unit, and without columns of nulls. A reading has its other texts by their places, and its values as whole
    numbers, how many of 10 to the power of ``digit`` each lies above ``middle``.
    """
    if isinstance(content, list):
        return [compacted(one) for one in content] if content and isinstance(content[0], (dict, list)) else content
    if not isinstance(content, dict):
        return content
    if "shown" in content and "columns" in content:
        return _table(content)
    if "shown" in content and "unit" in content:
        own = _own(content["shown"], content["values"], content["unit"])
        shown = {str(place): text for place, text in enumerate(own) if text is not None}
        return {**content, "shown": shown, **_wholes(content["values"])}
    return {name: compacted(part) for name, part in content.items()}


def _table(table: Data) -> Data:
    values, columns, texts = table.get("values", {}), [], {}
    for place, (column, shown) in enumerate(zip(table["columns"], zip(*table["shown"], strict=True), strict=False)):
        unit = unit_of(column.get("name", column["title"]))
        own = _own(shown, values[str(place)], unit) if unit and str(place) in values else list(shown)
        made = any(text is None for text in own)
        columns.append({**column, "unit": unit} if made else column)
        if not made or any(text is not None for text in own):
            texts[str(place)] = own
    others = {name: part for name, part in table.items() if name != "shown"}
    return {**others, "columns": columns or table["columns"], "texts": texts}


def _wholes(values: Sequence[float | None]) -> Data:
    """The values as whole numbers; nothing where one of them wouldn't come back as it is."""
    known = [value for value in values if value is not None]
    ends = [int(f"{value:.{DIGITS - 1}e}".partition("e")[2]) - DIGITS + 1 for value in known if value]
    if not ends or min(ends) < _LEAST_DIGIT or max(ends) - min(ends) > _MOST_APART:
        return {}
    digit = min(ends)
    wholes = [round(value * 10.0**-digit) for value in known]
    if any(float(f"{whole}e{digit}") != value for whole, value in zip(wholes, known, strict=True)):
        return {}
    middle = statistics.median_low(wholes)
    rest = iter(wholes)
    return {
        "middle": middle,
        "digit": digit,
        "values": [None if value is None else next(rest) - middle for value in values],
    }


def _own(texts: Sequence[str], values: Sequence[Any], unit: str) -> list[str | None]:
    """The texts, with None for those that the page makes."""
    return [None if text == _made(value, unit) else text for text, value in zip(texts, values, strict=True)]


def _made(value: Any, unit: str) -> str | None:
    """The text of a value as the page makes it."""
    if value is None:
        return "-"
    if not isinstance(value, (int, float)):
        return None
    return percent_of(value * _OFF_HALF) if unit == "1" else scaled(value * _OFF_HALF, unit)
