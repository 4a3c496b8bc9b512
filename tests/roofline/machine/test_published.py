"""A device gets the figures published for exactly its name, or none."""

from pathlib import Path

import pytest

from roofline.machine.published import DeviceFileError, DeviceTable, PublishedDevice, load, normalised


@pytest.fixture(scope="module")
def table() -> DeviceTable:
    return load()


def _roof(table: DeviceTable, device: str, name: str) -> float | None:
    found = table.find(device)
    if found is None:
        return None
    return {roof.name: roof.value for roof in found.best()}.get(name)


@pytest.mark.parametrize(
    ("device", "bf16"),
    [
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA GB300", 2500e12),
        ("NVIDIA B300 SXM6 AC", 2250e12),
        ("RTX 4080 Laptop GPU", None),
        ("NVIDIA GeForce RTX 4080 Laptop GPU", None),
        ("NVIDIA GeForce RTX 4080", 97.5e12),
        ("NVIDIA FooBar 9000", None),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", None),
        ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", None),
        ("NVIDIA A100", None),
        ("H100", None),
        ("Tesla T4", None),
        ("", None),
    ],
)
def test_bf16_dense(table: DeviceTable, device: str, bf16: float | None) -> None:
    """No substring, no nearest, no default: other form factors, laptops, slices and unknown cards get nothing."""
    assert _roof(table, device, "bf16") == bf16


@pytest.mark.parametrize(
    ("device", "roof", "value"),
    [
        # An fp32 case and a tf32 case are held against roofs of their own.
        ("NVIDIA A100-SXM4-80GB", "fp32", 19.5e12),
        ("NVIDIA A100-SXM4-80GB", "tf32", 156e12),
        # The faster unit is the ceiling: tensor cores reach 19.5 where CUDA cores reach 9.7 TFLOP/s.
        ("NVIDIA A100-SXM4-80GB", "fp64", 19.5e12),
        # Frameworks keep the sum in fp32, which runs at half the rate on GeForce: 165.2 and not 330.3 TFLOP/s.
        ("NVIDIA GeForce RTX 4090", "fp16", 165.2e12),
        # The four A100 have a bandwidth each.
        ("NVIDIA A100-PCIE-40GB", "dram", 1555e9),
        ("NVIDIA A100-SXM4-40GB", "dram", 1555e9),
        ("NVIDIA A100 80GB PCIe", "dram", 1935e9),
        ("NVIDIA A100-SXM4-80GB", "dram", 2039e9),
    ],
)
def test_the_roof_that_a_case_is_held_against(table: DeviceTable, device: str, roof: str, value: float) -> None:
    assert _roof(table, device, roof) == value


@pytest.mark.parametrize(
    "name",
    ["nvidia geforce rtx 4090", "GeForce RTX 4090", "NVIDIA  GeForce(TM)  RTX 4090 ", "NVIDIA® GeForce™ RTX 4090"],
)
def test_spelling_does_not_matter(table: DeviceTable, name: str) -> None:
    """Case, spaces, trade marks and the vendor's name differ between drivers."""
    found = table.find(name)
    assert found is not None
    assert found.name == "NVIDIA GeForce RTX 4090"


def test_no_name_stands_for_two_devices(table: DeviceTable) -> None:
    """Every spelling in the shipped table belongs to one row."""
    names = [normalised(name) for device in table.devices for name in (device.name, *device.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("device", load().devices, ids=lambda device: device.name)
def test_every_row_is_sound(device: PublishedDevice) -> None:
    """A source, a year, figures of a sensible size, tensor cores not below the others; or a note saying why none."""
    assert device.source
    assert device.date.isdecimal()
    assert 2017 <= int(device.date) <= 2026
    assert device.roofs or device.note
    for roof in device.roofs:
        assert roof.dense
        assert (1e10 <= roof.value <= 1e13) if roof.name == "dram" else (1e12 <= roof.value <= 3e15)
    best = {roof.name: roof.value for roof in device.best()}
    order = [best[name] for name in ("fp32", "tf32", "bf16") if name in best]
    assert order == sorted(order)
    assert all(roof.source == "spec" and device.source in roof.detail for roof in device.best())


_GOOD = """
[[device]]
name = "Own Card"
source = "its box"
date = "2026"
roofs = [{ name = "fp32", value = 1e12, accumulate = "fp32", tensor = false }, { name = "dram", value = 1e11 }]
"""


def test_a_users_file_adds_and_replaces(tmp_path: Path) -> None:
    """A row of the user's counts before ours of the same name."""
    path = tmp_path / "own.toml"
    path.write_text(_GOOD + _GOOD.replace("Own Card", "NVIDIA L4"))
    table = load(path)
    assert _roof(table, "own card", "fp32") == 1e12
    assert _roof(table, "NVIDIA L4", "fp32") == 1e12
    assert _roof(table, "NVIDIA L40", "fp32") == 90.5e12


def test_a_sparse_figure_is_shown_and_is_no_roof(tmp_path: Path) -> None:
    """Twice the dense rate is never what a dense case is held against."""
    path = tmp_path / "own.toml"
    path.write_text(_GOOD.replace("tensor = false }", "tensor = false, dense = false }"))
    assert _roof(load(path), "Own Card", "fp32") is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[[device]]", "[[device", "not TOML"),
        ("value = 1e12", "value = " + "9" * 5000, "no table of devices"),
        ('date = "2026"', "date = " + "[" * 5000, "no table of devices"),
        ("[[device]]", "[[gpu]]", "unknown field `gpu`"),
        ('name = "Own Card"', "", r"missing required field `name` - at `\$.device\[0\]`"),
        ('date = "2026"', "date = 2026", r"got `int` - at `\$.device\[0\].date`"),
        ('source = "its box"', 'source = ""', r"length >= 1 - at `\$.device\[0\].source`"),
        ('date = "2026"', 'date = "2026"\ncolour = "green"', "unknown field `colour`"),
        ('date = "2026"', 'date = "2026"\naliases = "x"', r"aliases`"),
        *(
            ("value = 1e12", f"value = {value}", r"device\[0\].roofs\[0\].value`")
            for value in ("0", "-1", "nan", "inf", "true", '"1e12"', "9" * 400)
        ),
        ('name = "fp32"', 'name = "fp31"', "'fp31'"),
        ("tensor = false", "tensor = 0", "tensor`"),
        ("tensor = false", "tensor = false, dense = 1", "dense`"),
        (', accumulate = "fp32"', "", r"accumulate .* belong to a compute roof - at `\$.device\[0\].roofs\[0\]`"),
        (", tensor = false", "", "belong to a compute roof"),
        ("roofs = [", "roofs = 1 #", "roofs`"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    """The message names file, place and what is allowed."""
    path = tmp_path / "own.toml"
    assert old in _GOOD
    path.write_text(_GOOD.replace(old, new))
    with pytest.raises(DeviceFileError, match=told) as error:
        load(path)
    assert str(error.value).startswith(str(path))
