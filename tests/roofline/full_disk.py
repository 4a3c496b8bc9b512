"""A disk that is nearly full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def nearly_full() -> Iterator[None]:
    """No file takes more than 4 KiB. A test on a system that can't limit that is skipped."""
    resource = pytest.importorskip("resource", reason="a limit of a file's size, in place of a full disk")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
