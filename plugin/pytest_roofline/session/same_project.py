"""What pytest takes for its project, and a command line that means the same project to a process that repeats the run.

pytest looks for its root folder and its ini file before it knows the flags of any plugin. The value behind a flag that
it doesn't know is then a test's path to it, if something of that name exists. A results folder exists from the first
process on, so that one command line may mean this project to the run, and another one to who repeats it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_roofline.options import SETTINGS
from pytest_roofline.settings import TakenFlags

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What pytest is to be given to repeat a run.

    :param arguments: the run's, as it was called.
    :param flags: of ours, each of which takes the word behind it for its value.
    :param pinned: root folder and ini file, as flags.
    """

    arguments: Sequence[str]
    flags: frozenset[str] = frozenset()
    pinned: Sequence[str] = ()

    def words(self, added: str | None = None) -> tuple[str, ...]:
        """The arguments. The run's own come last, and so count.

        :param added: what the environment adds to every command line, where it is to stand in this one.
        """
        return (*self.joined(added or ""), *self.pinned, *joined(self.arguments, self.flags))

    def joined(self, added: str) -> tuple[str, ...]:
        """What the environment adds, in the form that can't be taken for a path."""
        return joined(shlex.split(added), self.flags)


def repeating(config: pytest.Config) -> CommandLine:
    """What repeats this run, in its folder."""
    given = config.invocation_params
    return CommandLine(
        arguments=tuple(str(argument) for argument in given.args),
        flags=_flags(config),
        pinned=pinned(config.rootpath, config.inipath, given.dir),
    )


def pinned(root: Path, ini: Path | None, folder: Path) -> tuple[str, ...]:
    """pytest's flags for a root folder and an ini file: short, and without the names of folders above the project.

    :param folder: where pytest is called.
    """
    files = {"--rootdir": root, "--config-file": ini}
    return tuple(f"{flag}={_relative(path, folder)}" for flag, path in files.items() if path is not None)


def _relative(path: Path, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # on another drive of Windows
        return str(path)


def joined(arguments: Iterable[str], flags: frozenset[str]) -> tuple[str, ...]:
    """The arguments with ``--flag=value`` in place of ``--flag value``: nobody takes that for a path."""
    return tuple(word if value is None else f"{word}={value}" for word, value in _words(arguments, flags))


def _words(arguments: Iterable[str], flags: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """Each word, and the value behind it where it is one of the flags."""
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            yield word, None
            yield from ((path, None) for path in rest)
        else:
            yield word, next(rest, None) if word in flags else None


def _flags(config: pytest.Config) -> frozenset[str]:
    """Our flags that take a value, but for those that may stand without one. A short one may be another plugin's."""
    with_value = [setting for setting in SETTINGS if not (setting.switch or setting.bare)]
    flags = {setting.flag for setting in with_value}
    taken: TakenFlags | None = config.pluginmanager.get_plugin(TakenFlags.PLUGIN)
    if taken is not None:
        flags |= {setting.short_flag for setting in with_value if setting.name not in taken.flags}
    return frozenset(flags)


def misled(config: pytest.Config, environment: Mapping[str, str]) -> str | None:
    """What is wrong where pytest found its project by the value of one of our flags, and what to do; None where it
    didn't.
    """
    if getattr(config.option, "inifilename", None):
        return None
    folder = config.invocation_params.dir
    words = (*shlex.split(environment.get("PYTEST_ADDOPTS", "")), *map(str, config.invocation_params.args))
    found = [
        (flag, value)
        for flag, value in _words(words, _flags(config))
        if value is not None and os.path.exists(folder / value)
    ]
    if not found:
        return None
    named = config.args if config.args_source is config.ArgsSource.ARGS else []
    root, ini = _project([folder / name.partition("::")[0] for name in named], folder)
    if (ini == config.inipath) and (root == config.rootpath or config.option.rootdir):
        return None
    flag, value = found[0]
    remedy = f"Write {flag}={shlex.quote(value)}" + ("" if named else ", or name the tests")
    return (
        f"{flag} {value}: pytest looks for its root folder before it knows this flag, and took {value} for the path of "
        f"tests. So its root is {config.rootpath} (ini file: {config.inipath or 'none'}) and not {root} (ini file: "
        f"{ini or 'none'}). {remedy}."
    )


def _project(paths: Sequence[Path], folder: Path) -> tuple[Path, Path | None]:
    """Root folder and ini file as pytest finds them, by its documentation, "Initialization: determining rootdir and
    configfile" (https://docs.pytest.org/en/stable/reference/customize.html).

    :param paths: of tests, as named.
    :param folder: where pytest is called.
    """
    folders = [path if path.is_dir() else path.parent for path in paths if os.path.exists(path)]
    folders = [Path(os.path.abspath(path)) for path in folders]
    ancestor = _common(*folders) if folders else folder
    ini = _ini_above(ancestor)
    if ini is not None:
        return ini.parent, ini
    for above in (ancestor, *ancestor.parents):
        if (above / "setup.py").is_file():
            return above, None
    ini = next((found for path in folders if (found := _ini_above(path)) is not None), None)
    if ini is not None:
        return ini.parent, ini
    common = _common(folder, ancestor)
    return ancestor if common == Path(common.anchor) else common, None


def _common(first: Path, *others: Path) -> Path:
    try:
        return Path(os.path.commonpath([first, *others]))
    except ValueError:  # on several drives of Windows
        return first


_INI_FILES = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": r"\[\s*tool\.pytest\b",
    "tox.ini": r"\[pytest\]",
    "setup.cfg": r"\[tool:pytest\]",
}
"""pytest's, in its order, and the line by which each is one. Some are it whatever they hold."""


def _ini_above(start: Path) -> Path | None:
    """The nearest ini file; else the nearest pyproject.toml, though it holds nothing of pytest's."""
    lone = None
    for above in (start, *start.parents):
        for name, line in _INI_FILES.items():
            path = above / name
            if path.is_file() and re.search(f"^{line}", path.read_text("utf-8", "replace"), re.MULTILINE):
                return path
        if lone is None and (above / "pyproject.toml").is_file():
            lone = above / "pyproject.toml"
    return lone
