"""Published roofs by device name: the specification table, and the one rule by which a device finds its row.

The rule: the name must be equal, apart from case, spaces, "NVIDIA" and trade marks. No substring, no nearest, no
default: a laptop card, a PCIe card, a MIG slice or an unknown card gets nothing rather than another card's figures.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from roofline.files.decoding import ReadError, text_of
from roofline.schema.session import Roof

BYTE_ROOFS = ("dram", "llc", "host_to_device")
"""Names of roofs in byte/s; every other name is a compute dtype in FLOP/s."""


class DeviceFileError(ReadError):
    """A device table that can't be used. The message names file, place and what is allowed there."""


Name = Annotated[str, msgspec.Meta(min_length=1)]


class PublishedRoof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One printed figure. ``value`` in FLOP/s or byte/s; bandwidths have neither ``accumulate`` nor ``tensor``."""

    name: Literal["fp64", "fp32", "tf32", "bf16", "fp16", "dram", "llc", "host_to_device"]
    value: Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
    accumulate: Name | None = None
    tensor: bool | None = None
    dense: bool = True

    def __post_init__(self) -> None:
        if self.name not in BYTE_ROOFS and (self.accumulate is None or self.tensor is None):
            raise ValueError("accumulate (such as 'fp32') and tensor (true or false) belong to a compute roof")


class PublishedDevice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The figures of one device in one document. No ``roofs``: ``note`` tells why there is none for this name."""

    name: Name
    aliases: tuple[Name, ...] = ()
    source: Name
    date: Name
    note: Name | None = None
    roofs: tuple[PublishedRoof, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def best(self) -> tuple[Roof, ...]:
        """The roofs a case is held against: dense, and with the accumulation that frameworks use (fp32; fp64 for fp64).

        Of several that qualify (CUDA cores and tensor cores) the highest, since the fastest unit is the ceiling.
        """
        chosen: dict[str, PublishedRoof] = {}
        for roof in self.roofs:
            wanted = None if roof.name in BYTE_ROOFS else "fp64" if roof.name == "fp64" else "fp32"
            if roof.dense and (wanted is None or roof.accumulate == wanted):
                current = chosen.get(roof.name)
                chosen[roof.name] = roof if current is None or roof.value > current.value else current
        return tuple(
            Roof(
                kind="byte" if roof.name in BYTE_ROOFS else "flop",
                name=roof.name,
                value=roof.value,
                source="spec",
                detail=f"{self.source}, {self.date}",
            )
            for roof in chosen.values()
        )


class DeviceTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All known devices. Of two rows with one name the later one counts: a user's file comes after ours."""

    devices: Annotated[tuple[PublishedDevice, ...], msgspec.Meta(min_length=1)] = msgspec.field(name="device")

    def find(self, name: str) -> PublishedDevice | None:
        """The row of exactly this device, or None."""
        wanted = normalised(name)
        for device in reversed(self.devices):
            if wanted in map(normalised, device.names):
                return device
        return None

    def containing(self, text: str) -> tuple[PublishedDevice, ...]:
        """The rows whose name or alias contains the text: to look them up, never to judge by."""
        wanted = normalised(text)
        return tuple(device for device in self.devices if any(wanted in normalised(name) for name in device.names))

    def nearest(self, text: str) -> tuple[str, ...]:
        """Up to three names that are spelled most like the text: first those that have it but for one character."""
        wanted = normalised(text)
        spelled = {normalised(name): name for device in self.devices for name in device.names}
        # A part of the name is the text with one other character in it. Of two characters one says nothing.
        one_off = re.compile(
            "|".join(f"{re.escape(wanted[:at])}.{re.escape(wanted[at + 1 :])}" for at in range(len(wanted)))
        )
        slips = [name for name in spelled if len(wanted) > 2 and wanted not in name and one_off.search(name)]
        near = dict.fromkeys([*slips, *difflib.get_close_matches(wanted, spelled, cutoff=0.55)])
        return tuple(spelled[name] for name in near)[:3]


def normalised(name: str) -> str:
    """The name without what differs between drivers: case, spaces, "NVIDIA", trade marks.

    >>> normalised("NVIDIA GeForce(TM) RTX 4090") == normalised("geforce rtx 4090")
    True
    """
    plain = re.sub(r"\((tm|r)\)|[™®]", "", name.casefold())
    return re.sub(r"\s+", "", re.sub(r"\bnvidia\b", "", plain))


def load(extra: Path | None = None) -> DeviceTable:
    """The table that ships with this package, with a user's own file of the same form after it.

    :raises DeviceFileError: the user's file can't be read, or a row of it is not of the form.
    """
    shipped = _parse(files("roofline.machine").joinpath("devices.toml").read_text(encoding="utf-8"))
    if extra is None:
        return shipped
    try:
        own = _parse(text_of(extra, "Give a TOML file in the form of the package's devices.toml."))
    except ReadError as error:
        raise DeviceFileError(str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise DeviceFileError(f"{extra}: not TOML ({error}).") from error
    except (ValueError, RecursionError) as error:
        # Not of the form; or a number of thousands of digits, or thousands of brackets.
        raise DeviceFileError(f"{extra}: no table of devices ({error}).") from error
    return DeviceTable(devices=shipped.devices + own.devices)


def _parse(text: str) -> DeviceTable:
    return msgspec.convert(tomllib.loads(text), DeviceTable)
