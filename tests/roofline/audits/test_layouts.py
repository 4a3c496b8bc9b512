"""Layouts name fields that rows have, and say what a table needs."""

from dataclasses import fields

from roofline.audits.layouts import PLAIN, TIMM, layouts_of, needed, plain
from roofline.audits.row import StatedRow


def test_every_column_fills_a_field_of_the_row() -> None:
    known = {field.name for field in fields(StatedRow)}
    for layout in (PLAIN, *TIMM):
        assert {quantity.field for quantity in layout.numbers.values()} <= known
        assert set(layout.words.values()) <= known


def test_columns_are_spelled_as_they_are_compared() -> None:
    """A name that `plain` changes could never be found."""
    for layout in (PLAIN, *TIMM):
        for name in (*layout.numbers, *layout.words):
            assert plain(name) == name


def test_the_message_names_columns_that_are_really_read() -> None:
    for name in ("images_per_s", "step_time_ms", "mean_us", "attained_gflop_per_s", "gmacs", "peak_gb_per_s"):
        assert name in needed()
        assert layouts_of(frozenset({"model", name})) == (PLAIN,)
