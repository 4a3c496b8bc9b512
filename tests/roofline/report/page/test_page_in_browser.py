"""The page as a reader uses it: opened from disk in a headless Chromium, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

from roofline.machine.published import load
from roofline.model.points import place_all, points_of
from roofline.report.page.cells import table_data
from roofline.report.page.page_files import compacted, write_page
from roofline.results.reader import read
from roofline.schema.record import Flag, Rounds
from roofline.show.tables import seconds, share, words
from roofline.text.units import scaled
from tests.roofline import build
from tests.roofline.histories.made import UP, commit, nights

sync_api = pytest.importorskip("playwright.sync_api", reason="drives the browser")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")

HOSTILE = "<img src=x onerror=document.title='run'></script><b>bold</b>"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of three cases on one machine, one of them with a hostile name and one with an older session,
    and one of them on another machine.
    """
    folder = tmp_path_factory.mktemp("page")
    read = Rounds(steps=1, wall_s=(0.5, 0.5), power_w=(200.0, 210.0), temperature_c=(60.0, 61.0))
    records = [
        build.record(
            case=build.case(model="slow"),
            timing=build.timing(0.5, rounds=read),
            flags=(Flag(name="drift", evidence="a sentence that no narrow window has room for beside other columns"),),
        ),
        build.record(case=build.case(model=HOSTILE, batch=8), timing=build.timing(0.02)),
        build.record(case=build.case(model="fast", mode="infer"), timing=build.timing(0.01)),
    ]
    hostile = tuple(replace(roof, name=HOSTILE) for roof in build.roofs()[:1])
    session = build.session((*build.roofs(), *hostile))
    older = replace(session, started_at="2026-11-19T10:00:00+00:00")
    runs = [
        build.result(folder / "run.json", records, of=session, on=build.machine(HOSTILE)),
        build.result(folder / "older.json", records[:1], of=older, on=build.machine(HOSTILE)),
        build.result(folder / "other.json", records[-1:], on=build.machine("other")),
    ]
    points = [point for run in runs for point in points_of(run, load(None))]
    return write_page(points, folder / "report")[0].as_uri()


@pytest.fixture(scope="module")
def shown(index: str) -> Iterator[sync_api.Page]:
    """The page, loaded once: plotly takes its time. A test leaves it as it was. The browser complains of nothing."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(index)
        page.wait_for_selector(".chart .main-svg")
        yield page
        browser.close()
    assert complaints == []


def test_data_come_back_from_their_compact_form(shown: sync_api.Page) -> None:
    """Numbers and texts: halves, which Python rounds to even, and what binary numbers have beside them; values that are
    rounded up to the next prefix; and texts that aren't made of the value beside them.
    """
    near_half = [number / 10000 for number in range(5005, 6005, 10)]
    numbers = [*near_half, 1.125, 0.125, 0.005, 0.0, None, -0.0625, 0.99996, 999.96, 0.00625748, 3e-13, 2e18, 12.3456]
    columns = [
        words("case", get=str),
        seconds("time_s", get=numbers.__getitem__),
        share("share", get=numbers.__getitem__),
    ]
    table = table_data(columns, range(len(numbers)))
    rounded_up = ["-" if value is None else scaled(value * (1 + 1e-9), "s") for value in numbers]
    other = {**table, "shown": [[row[0], up, "1.3-2"] for row, up in zip(table["shown"], rounded_up, strict=True)]}
    times = [0.00625748, None, 0.00626666, 0.012, 0.0, 1e-5]
    reading = {"unit": "s", "values": times, "shown": ["6.26 ms", "-", "6.27 ms", "more", "0 s", "10.0 µs"]}
    apart = {**reading, "values": [1e300, None, 1e-305, 1.0, 2.0, 3.0]}
    before = [table, other, reading, apart]
    compact = compacted(before)
    assert compact[0]["texts"] == {"0": [str(row) for row in range(len(numbers))], "1": ANY, "2": ANY}
    assert compact[2]["shown"] == {"3": "more"}
    after = shown.evaluate("(content) => { expand(content); return content; }", compact)
    parts = ("shown", "values")
    assert [[one[part] for part in parts] for one in after] == [[one[part] for part in parts] for one in before]


def test_an_empty_page_says_why(index: str, shown: sync_api.Page) -> None:
    """As who was sent index.html alone sees it; what was loaded takes it away."""
    text = "This page is empty without JavaScript, the folder <code>page</code> beside it"
    assert text in Path(index.removeprefix("file://")).read_text(encoding="utf-8")
    assert shown.get_by_text("This page is empty").count() == 0


def _cases(shown: sync_api.Page) -> list[str]:
    return shown.locator("details.machine tbody >> td:first-child >> button").all_inner_texts()


def test_a_toggle_takes_rows_and_points_away(shown: sync_api.Page) -> None:
    """The box of a mode stands for its cases, in the figure and in the table below it."""
    drawn = shown.locator(".chart path.point")
    assert drawn.count() == 3
    shown.get_by_label("infer (outlined)").uncheck()
    assert (drawn.count(), len(_cases(shown))) == (2, 2)
    shown.get_by_label("infer (outlined)").check()
    assert drawn.count() == 3


def test_a_toggle_takes_cases_of_all_machines_away(shown: sync_api.Page, index: str) -> None:
    """From the figure of all machines, and from the table of speed-ups."""
    page = shown.context.browser.new_page()
    page.goto(index)
    page.get_by_text("Machines beside each other").click()
    beside = page.locator("details.machine", has_text="Machines beside each other")
    beside.locator(".chart .main-svg").first.wait_for()
    assert (beside.locator("path.point").count(), beside.locator("tbody tr").count()) == (4, 2)
    beside.get_by_label("infer").uncheck()
    assert (beside.locator("path.point").count(), beside.locator("tbody tr").count()) == (2, 0)
    page.close()


def test_a_change_of_level_is_marked_in_the_history(shown: sync_api.Page, tmp_path: Path) -> None:
    """By a line, a shaded range, and its size with the commits between, as long as its case is chosen."""
    pytest.importorskip("ruptures", reason="needs the extra history")
    points = place_all(read([nights(tmp_path, UP)]).files, load(None))
    page = shown.context.browser.new_page()
    page.goto(write_page(points, tmp_path / "report")[0].as_uri())
    page.locator("summary", has_text="History").click()
    history = page.locator("details", has=page.locator("summary", has_text="History")).last
    history.locator(".chart .main-svg").first.wait_for()
    marks, texts = history.locator(".shapelayer path"), history.locator(".annotation-text")
    assert (marks.count(), texts.count()) == (2, 1)
    text = texts.text_content()
    assert "resnet50-train-b32-fp32" in text
    assert f"{commit(11)[:10]}..{commit(12)[:10]}" in text
    page.locator("label", has_text="resnet50").uncheck()
    sync_api.expect(texts).to_have_count(0)
    page.close()


def test_all_none_or_one_value_can_be_chosen(shown: sync_api.Page) -> None:
    """By buttons, and by a click with Shift."""
    drawn = shown.locator(".chart path.point")
    counts = []
    for name in ("none: model", "all: model"):
        shown.get_by_role("button", name=name).click()
        counts.append(drawn.count())
    shown.locator("#machine-0 label", has_text="fast").click(modifiers=["Shift"])
    sync_api.expect(drawn).to_have_count(1)
    shown.get_by_role("button", name="all: model").click()
    assert (counts, drawn.count()) == ([0, 3], 3)


def test_a_letter_stands_nearest_to_its_own_point(shown: sync_api.Page) -> None:
    """Where another point, or its letter, is in the way, on another side."""
    spots = [{"x": 0, "y": 0, "radius": 6}, {"x": 10, "y": -10, "radius": 6}, {"x": 0, "y": 0, "radius": 6}]
    ways = shown.evaluate("(spots) => namesBeside(spots, [0, 2])", spots)
    assert [[round(part) for part in way] for way in ways] == [[11, 11], [-11, -11]]


def test_a_table_sorts_and_filters(shown: sync_api.Page) -> None:
    """By the heading, which tells a screen reader the direction; a filter, which a table of
    eight rows has, keeps the rows with all of its words.
    """
    heading = shown.locator("details.machine th", has_text="step")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [name.partition("-")[0] for name in _cases(shown)] == ["fast", HOSTILE.partition("-")[0], "slow"]
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert _cases(shown)[0].startswith("slow")
    shown.evaluate("""() => {
        const shown = ["a b", "b", "B, a", "c", "d", "e", "f", "g"].map((text) => [text]);
        const table = tableOf({ columns: [{ title: "name" }], shown }, { label: "Long" });
        document.body.append(element("div", { id: "long" }, table));
    }""")
    shown.get_by_label("Filter: Long").fill("a B")
    assert shown.locator("#long td").all_inner_texts() == ["a b", "B, a"]
    shown.evaluate("document.getElementById('long').remove()")


def test_all_columns_are_shown_and_copied(shown: sync_api.Page) -> None:
    """At first those that fit; as CSV all, with both ends of each range."""
    headings, every = shown.locator("#machine-0 th"), shown.locator("#machine-0").get_by_text("All columns").first
    assert "precision" not in headings.all_inner_texts()
    every.click()
    assert "precision" in headings.all_inner_texts()
    every.click()
    row = _first_copied(shown, "#machine-0 .bar button")
    assert (row["intensity_low_flop_per_byte"], row["intensity_high_flop_per_byte"]) == ("25", "100")
    assert (row["fraction_of_roof_low"], row["fraction_of_roof_high"]) == ("0.02", "0.08")


def _first_copied(shown: sync_api.Page, button: str) -> dict[str, str]:
    """The first row that a button copies."""
    copied = """async (button) => {
        let text = "";
        navigator.clipboard.writeText = async (given) => { text = given; };
        document.querySelector(button).click();
        await new Promise((resolve) => setTimeout(resolve, 0));
        return text;
    }"""
    head, first, *_ = shown.evaluate(copied, button).splitlines()
    return dict(zip(head.split(","), first.split(","), strict=True))


def test_no_spreadsheet_runs_what_was_copied(shown: sync_api.Page) -> None:
    """As in the report's files; numbers stay numbers."""
    rows = [["=HYPERLINK(1)", "@a,b", "-1.5e3", -2, None, "+32 %", "a=b"]]
    copied = shown.evaluate("(rows) => csvOf(['=1+1'], rows)", rows)
    assert copied == "'=1+1\n'=HYPERLINK(1),\"'@a,b\",-1.5e3,-2,,'+32 %,a=b\n"


def test_a_text_is_sorted_by_its_number(shown: sync_api.Page) -> None:
    """Such as a range, which has no other value."""
    texts = ["1.28 ms", "-542 µs", "2.73 T", "65", "100 % fp32", "none", "-"]
    amount = "(texts) => texts.map((text) => amountOf({columns: [{right: true}], shown: [[text]]}, 0, 0))"
    assert shown.evaluate(amount, texts) == [1.28 * 1e-3, -542 * 1e-6, 2.73 * 1e12, 65, 100, "none", None]


def test_a_name_stays_text(shown: sync_api.Page) -> None:
    """In tables, in the figure, beside a point, and in the panel of its case, which a click on the point opens."""
    point = shown.locator(".chart path.point").nth(1)
    point.hover(force=True)
    assert shown.locator("#tip div").first.inner_text() == f"{HOSTILE}-train-b8-fp32"
    point.click(force=True)
    shown.wait_for_selector("#case .main-svg")
    assert shown.locator("#case h2").inner_text() == f"{HOSTILE}-train-b8-fp32"
    assert shown.locator("img, b").count() == 0
    label = shown.locator(".chart .annotation", has_text="bold")
    assert label.text_content().startswith(HOSTILE)
    shown.keyboard.press("Escape")


def test_the_keyboard_reaches_a_case(shown: sync_api.Page) -> None:
    """Tab reaches its name, Enter opens its panel, Escape closes it and gives the focus back."""
    for _ in range(120):
        shown.keyboard.press("Tab")
        if shown.evaluate("document.activeElement.textContent") == "slow-train-b32-fp32":
            break
    shown.keyboard.press("Enter")
    shown.wait_for_selector("#case .main-svg")
    assert "perftests/test_models.py::test_case[slow-train-b32-fp32]" in shown.locator("#case pre").inner_text()
    shown.keyboard.press("Escape")
    assert shown.evaluate("document.activeElement.textContent") == "slow-train-b32-fp32"


def test_an_older_session_opens_from_the_newest(shown: sync_api.Page) -> None:
    """In the same panel, which then begins at its top again."""
    shown.get_by_role("button", name="slow-train-b32-fp32", exact=True).first.click()
    panel = shown.locator("#case")
    panel.get_by_role("button", name="older.json").click()
    panel.get_by_text("Older result: run of 2026-11-19 10:00 UTC").wait_for()
    assert shown.evaluate("document.activeElement.id") == "case-title"
    panel.get_by_role("button", name="run.json").click()
    sync_api.expect(panel.get_by_text("Older result")).to_have_count(0)
    shown.keyboard.press("Escape")
    assert shown.evaluate("document.activeElement.textContent") == "slow-train-b32-fp32"


def test_readings_stand_below_the_times_of_rounds(shown: sync_api.Page) -> None:
    """Over one axis, whose labels stand below all of them. Their table is copied by the names that frames have."""
    shown.get_by_role("button", name="slow-train-b32-fp32", exact=True).first.click()
    shown.wait_for_selector("#case .main-svg")
    tops = "(texts) => texts.map((text) => text.getBoundingClientRect().top)"
    across, up = (shown.locator(f"#case .{axis}tick text").evaluate_all(tops) for axis in ("x", "y"))
    assert min(across) > max(up)
    titles = [shown.locator(f"#case .{axis}title").text_content() for axis in ("x", "y", "y2", "y3")]
    assert titles == ["round", "step", "power", "temperature"]
    copied = {"round": "1", "step_time_s": "0.5", "power_w": "200", "temperature_c": "60"}
    assert _first_copied(shown, "#case details button") == copied
    shown.keyboard.press("Escape")


def test_what_was_loaded_is_printed(shown: sync_api.Page) -> None:
    """Folded or not; a line names what was not loaded. Afterwards the page is as it was."""
    first, line = shown.locator("#machine-0"), shown.get_by_text("Not printed")
    first.evaluate("(one) => { one.open = false; }")
    shown.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    text = "Not printed, as it was not unfolded: Machines beside each other, Variability of "
    assert line.inner_text() == f"{text}{HOSTILE}, other."
    assert (first.get_attribute("open"), shown.locator("#machine-1").is_visible()) == ("", False)
    shown.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert (first.get_attribute("open"), line.count()) == (None, 0)
    first.evaluate("(one) => { one.open = true; }")


def test_axe_finds_no_serious_fault(shown: sync_api.Page) -> None:
    """Of the page and of an open case, light and dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="finds what keeps readers out")
    found: list[tuple[str, str, list[str]]] = []
    # It would fetch the style sheet, which the page forbids.
    options = {"preload": False, "resultTypes": ["violations"]}

    def check(what: str) -> None:
        for fault in axe.Axe().run(shown, options=options).response["violations"]:
            if fault["impact"] in ("serious", "critical"):
                found.append((what, fault["help"], [node["html"] for node in fault["nodes"]]))

    for scheme in ("light", "dark"):
        shown.emulate_media(color_scheme=scheme)
        check(f"{scheme} page")
        shown.get_by_role("button", name="slow-train-b32-fp32", exact=True).first.click()
        shown.wait_for_selector("#case .main-svg")
        check(f"{scheme} case")
        shown.keyboard.press("Escape")
    shown.emulate_media(color_scheme="light")
    assert found == []


def test_charts_and_evidence_are_as_wide_as_the_window(shown: sync_api.Page) -> None:
    """Charts are drawn anew where it changes, with no name cut off; the cells of a row with a sentence are stacked."""
    before = shown.viewport_size
    for width in (900, 400):
        shown.set_viewport_size({"width": width, "height": 720})
        shown.wait_for_function("""() => {
            const chart = document.querySelector(".chart");
            return Number(chart.querySelector(".main-svg").getAttribute("width")) === chart.clientWidth;
        }""")
        roof = shown.locator(".chart .annotation-text", has_text="fp32").first
        assert roof.evaluate("name => name.getBoundingClientRect().right") <= width
    assert shown.locator("#overview .scroll").first.evaluate("one => one.scrollWidth <= one.clientWidth")
    shown.set_viewport_size(before)
