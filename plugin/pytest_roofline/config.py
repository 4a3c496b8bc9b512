"""Tell what this pytest was asked for: the options in force, flags as the user knows them, and which tests measure."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_roofline.options import SETTINGS, Options
from pytest_roofline.settings import Given, Setting, SettingError, flags_of, resolve, source

if TYPE_CHECKING:
    import pytest

_OPTIONS: pytest.StashKey[Options] = pytest.StashKey()
_BEFORE_CONFTESTS = pytest.StashKey[tuple[pytest.Parser, frozenset[str]]]()
"""pytest's parser, and the names of the options that it had before any conftest file was read."""

NOTES = pytest.StashKey[list[str]]()
"""What a suite wants readers of the results to know; it puts it there while tests are collected."""

ANNOUNCED = pytest.StashKey[list[str]]()
"""What a suite tells before the first test; it puts it there while tests are collected."""

NOT_MEASURED = (
    "{}: nothing would be measured. Leave it out, or run only the tests that don't measure. Without a results folder"
    " (-o roofline_results=) tests run once, unmeasured."
)
"""Of the flag that `disabled` gives."""


def options_of(config: pytest.Config) -> Options:
    """The plugin's options, read once.

    :raises pytest.UsageError: a value that is not allowed.
    """
    if _OPTIONS not in config.stash:
        try:
            config.stash[_OPTIONS] = Options(**resolve(config, SETTINGS))
        except SettingError as error:
            raise pytest.UsageError(str(error)) from error
    return config.stash[_OPTIONS]


def spelled(config: pytest.Config, name: str) -> str:
    """A setting's flag as the user knows it: as it was given, else the short one where a suite adds it."""
    setting = next(setting for setting in SETTINGS if setting.name == name)
    has_short = flags_of(config.pluginmanager).taken is not None
    return source(config, setting) or (setting.short_flag if has_short else setting.flag)


def idle_flags(config: pytest.Config, settings: Iterable[Setting], why: Mapping[str, str]) -> list[str]:
    """A line for each flag of the command line that has no effect. An ini file's settings are for all runs.

    :param why: by setting name.
    """
    given = {setting.name: source(config, setting) or "" for setting in settings if setting.name in why}
    return [f"{flag}: no effect: {why[name]}" for name, flag in given.items() if flag.startswith("-")]


def note_options(config: pytest.Config, parser: pytest.Parser) -> None:
    """Keep which options there are before conftest files add theirs."""
    config.stash[_BEFORE_CONFTESTS] = parser, frozenset(vars(config.known_args_namespace))


def project_options(config: pytest.Config) -> dict[str, Any]:
    """Give the values of the options that the project's conftest files added, where they aren't the defaults.

    :returns: by the flag.
    """
    if _BEFORE_CONFTESTS not in config.stash:  # a conftest file loaded the plugin
        return {}
    parser, known = config.stash[_BEFORE_CONFTESTS]
    try:
        defaults = vars(parser.parse_known_args([]))
    except pytest.UsageError:  # the project has an option that must be given
        defaults = dict.fromkeys(vars(config.option))
    given = {}
    for name in sorted(defaults.keys() - known):
        value = getattr(config.option, name, defaults[name])
        if value != defaults[name]:
            flag = f"--{name.removeprefix('roofline_').replace('_', '-')}"
            given[flag] = value.text if isinstance(value, Given) else value
    return given


def change_options(config: pytest.Config, **changes: Any) -> None:
    """Give options other values than the user did: for a plugin that measures in its own way.

    :raises pytest.UsageError: a value of the user's that is not allowed.
    """
    config.stash[_OPTIONS] = replace(options_of(config), **changes)


def disabled(config: pytest.Config) -> str | None:
    """The flag by which the user wants tests run once without measuring, or not at all."""
    return next((flag for flag in ("--benchmark-disable", "--benchmark-skip") if config.getoption(flag, False)), None)


def misread_path(config: pytest.Config) -> str | None:
    """Tell why pytest may run for the wrong root folder, and what to do; None where it doesn't.

    pytest looks for its root folder before it knows a plugin's flags. Until then the value behind one is the path of a
    test, if it exists. Which root folder was meant is not to be guessed.
    """
    folder = config.invocation_params.dir
    found = config.inipath is not None and folder.is_relative_to(config.rootpath)
    if found or config.option.inifilename or config.option.rootdir:
        return None
    words = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *map(str, config.invocation_params.args)]
    flags = flags_with_value(config)
    for flag, value in pairwise(words):
        path = folder / value
        if flag in flags and path.exists() and not path.resolve().is_relative_to(folder.resolve()):
            return (
                f"{flag} {value}: pytest looks for its root folder before it knows this flag, and takes {value} for the"
                f" path of tests. So its root is {config.rootpath} (ini file: {config.inipath or 'none'})."
                f" Write {flag}={shlex.quote(value)}, or name the root with --rootdir."
            )
    return None


def flags_with_value(config: pytest.Config) -> frozenset[str]:
    """Our flags that take the word behind them; a short one where a suite adds it and no other plugin has it."""
    settings = [setting for setting in SETTINGS if not (setting.switch or setting.bare)]
    flags = {setting.flag for setting in settings}
    taken = flags_of(config.pluginmanager).taken
    if taken is not None:
        flags |= {setting.short_flag for setting in settings if setting.name not in taken}
    return frozenset(flags)


def temporary_folder(config: pytest.Config) -> Path:
    """Make a folder that is this user's alone, and that is deleted as pytest ends.

    It lies in pytest's own one, where there is that (not under ``-p no:tmpdir``): pytest keeps the last three of those,
    and so deletes what a run that was killed has left.

    :raises pytest.UsageError: it can't be made.
    """
    factory: pytest.TempPathFactory | None = getattr(config, "_tmp_path_factory", None)
    try:
        made = tempfile.mkdtemp(prefix="roofline-", dir=None if factory is None else factory.getbasetemp())
    except OSError as error:
        why = f"no folder for temporary files can be made: {error.strerror or error}"
        raise pytest.UsageError(f"{why}. Name another one with --basetemp or TMPDIR.") from error
    config.add_cleanup(partial(shutil.rmtree, made, ignore_errors=True))
    return Path(made)


def uses_roofline(item: pytest.Item) -> bool:
    """Tell whether the test asked for this plugin's ``roofline`` fixture, directly or through another one.

    A project may have a fixture of that name for something else; then it is left alone.
    """
    if "roofline" not in getattr(item, "fixturenames", ()):
        return False
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get("roofline", ())
    return any(definition.func.__module__ == "pytest_roofline.plugin" for definition in definitions[-1:])


def case_name(item: pytest.Item) -> str:
    """The id of a suite's case (its parameter ``case``), or the test's own name."""
    callspec = getattr(item, "callspec", None)
    return str(callspec.id) if callspec is not None and "case" in callspec.params else item.name


def deselect(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    """Leave tests out, and tell pytest."""
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
