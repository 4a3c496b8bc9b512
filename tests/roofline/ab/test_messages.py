"""What the two ends of ``roofline ab`` say to each other, over real pipes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from roofline.ab.messages import Channel, Closed, Done, TimedOut, Took, Turn, Unreadable


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """Two channels, each of which hears what the other says."""
    first, second = os.pipe(), os.pipe()
    one = Channel(os.fdopen(first[0], "rb"), os.fdopen(second[1], "wb"))
    other = Channel(os.fdopen(second[0], "rb"), os.fdopen(first[1], "wb"))
    yield one, other
    one.close()
    other.close()


def test_an_end_that_is_gone_is_told(ends: tuple[Channel, Channel]) -> None:
    """To whoever listens and to whoever speaks."""
    one, other = ends
    other.close()
    with pytest.raises(Closed):
        one.receive()
    with pytest.raises(Closed):
        one.send(Turn())
    with pytest.raises(Closed):
        other.receive()


def test_whoever_says_nothing_is_not_waited_for_for_ever() -> None:
    """Nor whoever stops amid a message. What comes later is heard all the same."""
    reading, writing = os.pipe()
    channel = Channel(os.fdopen(reading, "rb"), os.fdopen(writing, "wb"))
    with pytest.raises(TimedOut):
        channel.receive(0.01)
    os.write(writing, b'{"kind": ')
    with pytest.raises(TimedOut):
        channel.receive(0.01)
    os.write(writing, b'"turn"}\n')
    assert channel.receive(0.01) == Turn()
    channel.close()


def test_what_was_said_at_once_is_heard_one_by_one(ends: tuple[Channel, Channel]) -> None:
    """The second message lies here already: nobody waits for the pipe to bring it."""
    one, other = ends
    one.send(Took(wall_s=1.0))
    one.send(Done(test="a"))
    assert other.receive(0.01) == Took(wall_s=1.0)
    assert other.receive(0.01) == Done(test="a")
    with pytest.raises(TimedOut):
        other.receive(0.01)


@pytest.mark.parametrize(
    "line",
    [b"hello\n", b"[]\n", b"{}\n", b'{"kind": "nothing"}\n', b'{"kind": "took"}\n', b'{"kind": "turn", "x": 1}\n'],
)
def test_what_is_no_message_is_told(line: bytes) -> None:
    """Something printed into the pipe, or another version's."""
    reading, writing = os.pipe()
    os.write(writing, line)
    channel = Channel(os.fdopen(reading, "rb"), os.fdopen(writing, "wb"))
    with pytest.raises(Unreadable):
        channel.receive()
    channel.close()
