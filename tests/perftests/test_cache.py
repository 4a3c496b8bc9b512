"""Where the suite's cache lies."""

from pathlib import Path

import pytest

from perftests import cache
from perftests.data_source import DataError


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"ROOFLINE_CACHE": "/fast/here", "XDG_CACHE_HOME": "/x"}, "linux", "/fast/here"),
        ({"XDG_CACHE_HOME": "/x"}, "linux", "/x/pytest-roofline"),
        ({"ROOFLINE_CACHE": "", "XDG_CACHE_HOME": ""}, "linux", "~/.cache/pytest-roofline"),
        ({}, "darwin", "~/Library/Caches/pytest-roofline"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/pytest-roofline"),
        ({}, "win32", "~/AppData/Local/pytest-roofline"),
    ],
)
def test_the_folder_is_the_users_wish_or_the_platforms_habit(
    environment: dict[str, str], platform: str, expected: str
) -> None:
    """ROOFLINE_CACHE wins; an empty variable is none."""
    assert cache.folder(environment, platform) == Path(expected).expanduser()


@pytest.mark.parametrize("variable", ["ROOFLINE_CACHE", "XDG_CACHE_HOME"])
def test_a_home_folder_that_is_not_known_is_refused(variable: str) -> None:
    """With the way out."""
    with pytest.raises(DataError, match=r"^ROOFLINE_CACHE: .*~nosuchuser/c, and ~nosuchuser is no known home folder"):
        cache.folder({variable: "~nosuchuser/c"}, "linux")
