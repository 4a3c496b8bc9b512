"""What a record says of itself: whether it is valid."""

from dataclasses import replace

from roofline.schema.record import Check, Flag
from tests.roofline import build


def test_an_invalid_flag_makes_the_record_invalid() -> None:
    """Other flags don't. A check that failed does, too; one that wasn't made doesn't."""
    noted = build.record(flags=(Flag(name="disturbed", evidence="x"),))
    assert noted.valid
    assert replace(noted, checks=(Check(name="device", status="not_made", evidence="x"),)).valid
    assert not replace(noted, checks=(Check(name="device", status="failed", evidence="x"),)).valid
    assert not replace(noted, flags=(*noted.flags, Flag(name="wrong_device", evidence="x", invalid=True))).valid
