"""Where the suite keeps what it builds once per user: sample images, and which images were found readable."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from perftests.data_source import DataError

VARIABLE = "ROOFLINE_CACHE"
"""Environment variable that names another folder."""


def folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """``$ROOFLINE_CACHE``, else ``pytest-roofline`` in the platform's cache folder. It may not exist yet.

    :raises DataError: it is in a home folder that isn't known.
    """
    if environment.get(VARIABLE):
        return _in_home(Path(environment[VARIABLE]))
    if platform == "darwin":
        base = Path("~/Library/Caches")
    elif platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or "~/AppData/Local")
    else:
        base = Path(environment.get("XDG_CACHE_HOME") or "~/.cache")
    return _in_home(base) / "pytest-roofline"


def _in_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise DataError(
            f"{VARIABLE}: the cache would be in {path}, and {path.parts[0]} is no known home folder; "
            f"set {VARIABLE} to a folder that can be written"
        ) from error
