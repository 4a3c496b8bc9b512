"""Where the suite keeps what it builds once per user: sample images, and which images were found readable."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from perftests.data_source import DataError
from pytest_roofline.roofs import kept as kept_roofs


def folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """The plugin's cache folder. It may not exist yet.

    :raises DataError: it is in a home folder that isn't known.
    """
    try:
        return kept_roofs.folder(environment, platform)
    except kept_roofs.CacheError as error:
        raise DataError(str(error)) from error
