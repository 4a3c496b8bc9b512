"""Settings: one table, three sources, one message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_roofline import options, settings
from pytest_roofline.settings import Given, Setting, SettingError, choice, number, resolve, source, truth, whole, words

BATCH = Setting(name="batch_size", parse=whole(1), default=7, help="h")


class FakeConfig:
    """Flags by dest, ini options by name."""

    def __init__(self, flags: dict[str, Any] | None = None, ini: dict[str, str] | None = None) -> None:
        import argparse

        self.option = argparse.Namespace(**(flags or {}))
        self.pluginmanager = pytest.PytestPluginManager()
        self._ini = ini or {}

    def getini(self, name: str) -> Any:
        return self._ini[name]


@pytest.mark.parametrize(
    ("flags", "ini", "value", "where"),
    [
        ({}, {}, 7, None),
        ({}, {"roofline_batch_size": "8"}, 8, "roofline_batch_size in the ini file"),
        ({"roofline_batch_size": Given("9", "--batch")}, {"roofline_batch_size": "8"}, 9, "--batch"),
    ],
)
def test_flag_beats_ini_beats_default(flags: Any, ini: Any, value: int, where: str | None) -> None:
    """The nearest source wins, and is named."""
    config = FakeConfig(flags, ini)
    assert resolve(config, [BATCH]) == {"batch_size": value}
    assert source(config, BATCH) == where


@pytest.mark.parametrize(
    ("flags", "ini", "where"),
    [
        ({"roofline_batch_size": Given("0", "--roofline-batch-size")}, {}, "--roofline-batch-size: '0'"),
        ({}, {"roofline_batch_size": "x"}, "roofline_batch_size in the ini file: 'x'"),
    ],
)
def test_a_bad_value_names_its_source_and_what_is_allowed(flags: Any, ini: Any, where: str) -> None:
    """An error says what, from where, and what is allowed."""
    with pytest.raises(SettingError) as error:
        resolve(FakeConfig(flags, ini), [BATCH])
    assert str(error.value) == f"{where} is not allowed: use a whole number from 1 to 1000000000"


@pytest.mark.parametrize(("held", "value"), [(["3", "4"], 4), ("5", 5), ([], 7), (None, 7)])
def test_a_short_flag_of_another_plugin_is_read_from_its_option(held: Any, value: int) -> None:
    """pytest-playwright's --device collects a list: the last counts."""
    config = FakeConfig({"batch": held})
    settings.flags_of(config.pluginmanager).taken = {"batch_size": "--batch"}
    assert resolve(config, [BATCH]) == {"batch_size": value}


class FakeGroup:
    """An option group in which some names are taken."""

    def __init__(self, taken: dict[str, Exception]) -> None:
        self.taken = taken
        self.added: list[str] = []

    def addoption(self, *opts: str, **_attrs: Any) -> None:
        if opts[0] in self.taken:
            raise self.taken[opts[0]]
        self.added.append(opts[0])


def test_short_flags_are_added_where_they_are_free() -> None:
    """ValueError and ArgumentError both mean taken."""
    import argparse

    other = [Setting(name=name, parse=str, help="h") for name in ("model", "data", "seed")]
    group = FakeGroup({"--model": ValueError(), "--data": argparse.ArgumentError(None, "conflict")})
    plugins = pytest.PytestPluginManager()
    settings.add_short_flags(plugins, group, other)
    assert settings.flags_of(plugins).taken == {"model": "--model", "data": "--data"}
    assert group.added == ["--seed"]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (whole(0, 3), "3", 3),
        (whole(0, 3), " +003 ", 3),
        (whole(0), "1000000000", 1_000_000_000),
        (number(0, 1), "1%", 0.01),
        (number(0), "2.5", 2.5),
        (truth, "True", True),
        (choice("a", "b"), "b", "b"),
        (words, " a, b,,", ("a", "b")),
        (words, "", ()),
        (settings.plain, "x", "x"),
    ],
)
def test_parsers(parse: Any, text: str, value: Any) -> None:
    """Text to value."""
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "allowed"),
    [
        (whole(1, 3), "0", "use a whole number from 1 to 3"),
        (whole(1, 3), "-1", "use a whole number from 1 to 3"),
        (whole(1, 3), "1.5", "use a whole number from 1 to 3"),
        (whole(0, 3), "4", "use a whole number from 0 to 3"),
        (whole(0, 3), "9" * 5000, "use a whole number from 0 to 3"),
        (whole(0), "1000000001", "use a whole number from 0 to 1000000000"),
        (number(0, 1), "100%", "use a number above 0 and below 1"),
        (number(0), "nan", "use a number above 0"),
        (number(0), "inf", "use a number above 0"),
        (number(0), "", "use a number above 0"),
        (truth, "yes", "use true or false"),
        (choice("a", "b", "c"), "d", "use a, b or c"),
        (settings.plain, " ", "use a text that is not blank"),
    ],
)
def test_parsers_say_what_is_allowed(parse: Any, text: str, allowed: str) -> None:
    """Whatever is refused, the text tells what isn't."""
    with pytest.raises(ValueError, match=f"^{allowed}$"):
        parse(text)


@pytest.mark.parametrize("text", ["../x", "/abs", ".", "..", "a\nb", "a:b", "x" * 101, " "])
def test_a_label_is_a_folder_name(text: str) -> None:
    """It may not lead out of the results folder."""
    label = next(setting for setting in options.SETTINGS if setting.name == "label")
    with pytest.raises(ValueError, match=r"^use a (name|text) "):
        label.parse(text)
    assert label.parse("my machine (2 CPUs)") == "my machine (2 CPUs)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("zone", "'zone' is no KEY=VALUE"),
        ("zone= ", "'zone=' is no KEY=VALUE"),
        ("1st=x", "'1st=x' is no KEY=VALUE"),
        ("a b=x", "'a b=x' is no KEY=VALUE"),
        ("a=1\nb", "'b' is no KEY=VALUE"),
        ("a=1\na=2", "a is given twice"),
    ],
)
def test_a_note_is_key_and_value(text: str, problem: str) -> None:
    """One a line; a key can be part of a column's name. The value is any text."""
    note = next(setting for setting in options.SETTINGS if setting.name == "note")
    with pytest.raises(ValueError, match=f"^{problem}"):
        note.parse(text)
    assert note.parse("vm-type=n1 = cheap\n\n  zone=x") == {"vm-type": "n1 = cheap", "zone": "x"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], None),
        (["--word"], "true"),
        (["--word=yes"], "yes"),
        (["--word", "yes"], "yes"),
        (["--word", "--x"], "true"),
    ],
)
def test_a_bare_flag_is_true(arguments: list[str], text: str | None) -> None:
    """One that may stand without a value; a word that follows it is taken for the value."""
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--x", action="store_true")
    group = SimpleNamespace(addoption=parser.add_argument)
    word = Setting(name="word", parse=str, bare=True, help="h")
    settings.add_short_flags(pytest.PytestPluginManager(), cast(Any, group), [word])
    given = parser.parse_args(arguments).roofline_word
    assert (given and given.text) == text
