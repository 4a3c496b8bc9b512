"""Cases beside each other, and what needs the machine alone."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from pytest_roofline.workers.machine_lock import MachineLock


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locks")
def test_two_that_are_beside_each_other_can_both_be_alone(tmp_path: Path) -> None:
    """One after the other: a case learns only while it is set up that it needs all of the memory."""
    both, alone = threading.Barrier(2), threading.Lock()
    ended: list[bool] = []

    def case(lock: MachineLock) -> None:
        with lock.beside():
            both.wait()
            with lock.alone():
                ended.append(alone.acquire(blocking=False))
                alone.release()

    cases = [threading.Thread(target=case, args=(MachineLock(tmp_path),), daemon=True) for _ in range(2)]
    for one in cases:
        one.start()
    for one in cases:
        one.join(60)
    assert ended == [True, True]
