"""Settings: one table feeds the flags, the ini options, the validation and every message.

A setting is read from its flag (``--roofline-NAME``, or the short spelling a suite adds), else from its ini option
(``roofline_NAME``), else from its environment variable where it has one, else it has its default. Whatever the source,
the text goes through the same parser, and an error names the source it came from.
"""

from __future__ import annotations

import argparse
import difflib
import math
import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pytest


class SettingError(ValueError):
    """A setting holds a value that is not allowed. The message says which, where it came from and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting.

    :param parse: turns the text into the value; raises ValueError with a text that says what is allowed.
    :param default: the value where nobody set it, already parsed.
    :param switch: the flag takes no value; the ini option takes ``true`` or ``false``.
    :param bare: the flag may stand without a value, which then is ``true``.
    :param variable: environment variable that holds the value where neither flag nor ini option does.
    :param joined_by: stands between the texts of a flag that is given more than once; None: the last one counts.
    """

    name: str
    help: str
    parse: Callable[[str], Any]
    default: Any = None
    metavar: str | None = None
    switch: bool = False
    bare: bool = False
    variable: str | None = None
    joined_by: str | None = None

    @property
    def flag(self) -> str:
        return "--roofline-" + self.name.replace("_", "-")

    @property
    def short_flag(self) -> str:
        """Added by a suite's conftest where it is free."""
        return "--" + self.name.replace("_", "-")

    @property
    def ini(self) -> str:
        """Name of the ini option, and of what pytest keeps the flag's value under."""
        return f"roofline_{self.name}"


@dataclass(frozen=True, slots=True)
class Given:
    """A text and the flag it was given with."""

    text: str
    flag: str


@dataclass(slots=True, eq=False)  # pytest 9.0 takes hashable plugins only
class Flags:
    """The flags that were added to a pytest, by setting name. Registered as its plugin `PLUGIN`.

    :param long: what stands for each long flag in ``--help``.
    :param taken: short flags that another plugin owns; None where no suite adds any.
    """

    long: dict[str, argparse.Action] = field(default_factory=dict)
    taken: dict[str, str] | None = None

    PLUGIN: ClassVar[str] = "roofline-flags"


def flags_of(plugins: pytest.PytestPluginManager) -> Flags:
    """Give the flags that were added so far."""
    if not plugins.has_plugin(Flags.PLUGIN):
        plugins.register(Flags(), Flags.PLUGIN)
    found = plugins.get_plugin(Flags.PLUGIN)
    assert isinstance(found, Flags)
    return found


class _Keep(argparse.Action):
    """Keeps which of its spellings a flag was given with, for messages, and adds up what is a list."""

    def __init__(self, *, joined_by: str | None = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._joined_by = joined_by

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        text = "true" if self.nargs == 0 else str(values)
        before = getattr(namespace, self.dest, None)
        if self._joined_by is not None and before is not None:
            text = f"{before.text}{self._joined_by}{text}"
        setattr(namespace, self.dest, Given(text, option_string or self.option_strings[0]))


def add_flags(
    parser: pytest.Parser,
    plugins: pytest.PytestPluginManager,
    group: pytest.OptionGroup,
    settings: Iterable[Setting],
) -> None:
    """Register the long flags and the ini options."""
    for setting in settings:
        action = _add_flag(group, setting, setting.flag)
        if action is not None:
            flags_of(plugins).long[setting.name] = action
        parser.addini(setting.ini, f"The value of {setting.flag} where it isn't given.", type="string", default="")


def add_short_flags(
    plugins: pytest.PytestPluginManager, group: pytest.OptionGroup, settings: Iterable[Setting]
) -> None:
    """Register the short spellings that are free. Long ones work on, but ``--help`` shows each setting once.

    Of a flag that another plugin owns the value is read from the owner's option.
    """
    flags = flags_of(plugins)
    flags.taken = {}
    for setting in settings:
        try:
            _add_flag(group, setting, setting.short_flag)
        except (ValueError, argparse.ArgumentError):
            flags.taken[setting.name] = setting.short_flag
        else:
            if setting.name in flags.long:
                flags.long[setting.name].help = argparse.SUPPRESS


def resolve(config: pytest.Config, settings: Iterable[Setting]) -> dict[str, Any]:
    """Find the value of every setting, by name.

    :raises SettingError: a value that its parser doesn't take.
    """
    return {setting.name: _value(config, setting) for setting in settings}


def source(config: pytest.Config, setting: Setting) -> str | None:
    """Tell where the value comes from (``--batch``, ``roofline_batch in the ini file``), or None for the default."""
    given = _given(config, setting)
    return given.flag if given else None


def _add_flag(group: pytest.OptionGroup, setting: Setting, flag: str) -> argparse.Action | None:
    """:returns: what argparse made of it."""
    made: list[argparse.Action] = []

    def action(**given: Any) -> argparse.Action:
        made.append(_Keep(joined_by=setting.joined_by, **given))
        return made[-1]

    attributes: dict[str, Any] = (
        {"nargs": 0} if setting.switch else {"metavar": setting.metavar or setting.name.upper()}
    )
    if setting.bare:
        attributes |= {"nargs": "?", "const": "true"}
    group.addoption(flag, dest=setting.ini, action=action, default=None, help=setting.help, **attributes)
    return made[0] if made else None


def _given(config: pytest.Config, setting: Setting) -> Given | None:
    given = getattr(config.option, setting.ini, None)
    taken = flags_of(config.pluginmanager).taken or {}
    if given is None and setting.name in taken:
        given = _foreign(config, taken[setting.name], setting.joined_by)
    if given is None:
        try:
            text = config.getini(setting.ini)
        except (KeyError, ValueError):  # a suite's setting, in a project that didn't register it
            text = ""
        if text:
            given = Given(str(text), f"{setting.ini} in the ini file")
    if given is None and setting.variable is not None and (text := os.environ.get(setting.variable)):
        given = Given(text, f"the environment variable {setting.variable}")
    return given


def _foreign(config: pytest.Config, flag: str, joined_by: str | None) -> Given | None:
    """Read another plugin's option of the same name (pytest-playwright's ``--device`` collects a list)."""
    value = getattr(config.option, flag.removeprefix("--").replace("-", "_"), None)
    if isinstance(value, list | tuple):
        value = joined_by.join(map(str, value)) if joined_by is not None else value[-1] if value else None
    return None if value is None or value == "" else Given(str(value), flag)


def _value(config: pytest.Config, setting: Setting) -> Any:
    given = _given(config, setting)
    if given is None:
        return setting.default
    try:
        return setting.parse(given.text)
    except ValueError as error:
        raise SettingError(f"{given.flag}: {given.text!r} is not allowed: {error}") from error


def truth(text: str) -> bool:
    """``true`` or ``false``."""
    if text.lower() not in ("true", "false"):
        raise ValueError("use true or false")
    return text.lower() == "true"


_MOST = 1_000_000_000
"""Steps, repeats and the like beyond it end neither in a working day nor in memory."""


def whole(minimum: int, maximum: int = _MOST) -> Callable[[str], int]:
    """A parser for whole numbers from ``minimum`` to ``maximum``."""

    def parse(text: str) -> int:
        with suppress(ValueError):  # no number, or of more digits than Python reads
            if minimum <= (value := int(text)) <= maximum:
                return value
        raise ValueError(f"use a whole number from {minimum} to {maximum}")

    return parse


def number(above: float, below: float | None = None, *, hint: str = "") -> Callable[[str], float]:
    """A parser for finite numbers greater than ``above`` and less than ``below``; a trailing ``%`` divides by 100."""
    allowed = f"use a number above {above:g}" + (f" and below {below:g}" if below is not None else "") + hint

    def parse(text: str) -> float:
        bare = text.strip()
        try:
            value = float(bare[:-1]) / 100 if bare.endswith("%") else float(bare)
        except ValueError:
            raise ValueError(allowed) from None
        if not math.isfinite(value) or value <= above or (below is not None and value >= below):
            raise ValueError(allowed)
        return value

    return parse


def choice(*allowed: str) -> Callable[[str], str]:
    """A parser for one of the given words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError("use " + with_near(text, allowed))
        return text

    return parse


def with_near(text: object, allowed: Collection[str]) -> str:
    """The allowed words as a choice, and which of them are near to what was given: ``a, b or c (near match: a)``.

    Near are those that begin with it, else the one that is spelled most like it.
    """
    *others, last = allowed
    word = str(text).lower()
    begun = [one for one in allowed if word and one.startswith(word)]
    found = begun or difflib.get_close_matches(word, allowed, n=1)
    hint = f" (near match: {' or '.join(found)})" if found else ""
    return f"{', '.join(others)} or {last}{hint}" if others else f"{last}{hint}"


def words(text: str) -> tuple[str, ...]:
    """A comma-separated list; empty items are dropped, so an empty text is an empty tuple."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def plain(text: str) -> str:
    """Any text that is not blank."""
    if not text.strip():
        raise ValueError("use a text that is not blank")
    return text
