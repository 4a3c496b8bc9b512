"""Entries that no device can ever be meant by: a name that was mistyped expects nothing, and looks like a pass.

Known are the kinds of device, the published names of the device table, and what the devices of the results are called.
A machine's label may be any name, but an entry that was locked has a fingerprint beside it, which no typo makes up: its
name is a machine's, for the file's other entries, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roofline.expectations.judging import names_of
from roofline.machine.published import DeviceTable, normalised
from roofline.model.points import Point
from roofline.schema.expected import ANY, Expected, matches

KINDS = ("cpu", "cuda", "mps")
"""What ``device.kind`` of a record may be."""


def unknown_devices(
    entries: Sequence[Expected], points: Sequence[Point], table: DeviceTable
) -> Mapping[str, Sequence[Expected]]:
    """What is wrong with the devices of entries, a sentence for each name, and the entries that have it.

    :param entries: all of the file's.
    :param points: all of the results, roofs included.
    """
    names = {name for point in points for name in names_of(point)}
    labels = {point.result.machine_key: point.result.machine_label for point in points}
    locked = {one.device for one in entries if one.fingerprint != ANY}
    published = [normalised(name) for device in table.devices for name in (device.name, *device.aliases)]
    wrong: dict[tuple[str, str], list[Expected]] = {}
    for one in entries:
        if one.is_on(names):
            continue
        if one.fingerprint == ANY:
            # A device table finds a card without "NVIDIA", too; an entry is for what the driver calls it.
            meant = next((name for name in sorted(names) if matches(normalised(one.device), normalised(name))), None)
            if meant is not None:
                wrong.setdefault((one.device, meant), []).append(one)
            elif not one.is_on({*KINDS, *locked}) and not any(
                matches(normalised(one.device), name) for name in published
            ):
                wrong.setdefault((one.device, ""), []).append(one)
        else:
            for label in [label for key, label in labels.items() if one.is_of_machine(key)]:
                wrong.setdefault((one.device, label), []).append(one)
    return {_told(device, label, found): found for (device, label), found in wrong.items()}


def _told(device: str, label: str, entries: Sequence[Expected]) -> str:
    """:param label: of the machine whose fingerprint the entries have, or what the device that is meant is called;
    empty where there is neither.
    """
    more = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
    entry = f"device {device!r} ({entries[0].source}{more})"
    if label and entries[0].fingerprint == ANY:
        return f"{entry}: a device of these results is called {label}: write it so, with * for what may differ"
    if label:
        return f"{entry}: the fingerprint is that of {label}, which has no such name: take one of its own"
    return (
        f"{entry}: no such device is known: a typo? Known are {', '.join(KINDS)}, the names of `roofline devices`, and"
        " what the devices and machines of these results are called"
    )
