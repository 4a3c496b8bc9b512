"""Where the suite keeps what it builds once per user: sample images, and which images were found readable."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "ROOFLINE_CACHE"
"""Environment variable that names another folder."""


def folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """``$ROOFLINE_CACHE``, else ``pytest-roofline`` in the platform's cache folder. It may not exist yet."""
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE]).expanduser()
    if platform == "darwin":
        base = Path("~/Library/Caches")
    elif platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or "~/AppData/Local")
    else:
        base = Path(environment.get("XDG_CACHE_HOME") or "~/.cache")
    return base.expanduser() / "pytest-roofline"
