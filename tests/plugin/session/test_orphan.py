"""How a measuring process looks at its parent. That it ends with it, tests of sets and of turns hold."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from pytest_roofline import exit_codes
from pytest_roofline.session import orphan


def test_it_rests_between_looks_though_sleep_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would take a CPU from the steps that are timed, and move the clock that goes with the made-up sleep."""
    parents: Iterator[int] = iter([7, 7, 1])

    def ended(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setattr(orphan, "_LOOK_S", 0.01)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", ended)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("slept by time.sleep"))
    parent: Any = SimpleNamespace(pid=7, is_running=lambda: True)
    start = time.monotonic()
    with pytest.raises(SystemExit) as exit:
        orphan._watch(parent)
    assert exit.value.code == exit_codes.INTERRUPTED
    assert time.monotonic() - start >= 0.02
