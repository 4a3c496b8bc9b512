"""Where the programs are looked for, in which order, and what is said of one that is not what it should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.device.system import Ended, System
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.check import Check
from tests.plugin.profilers.stubs import NCU_VERSION, Stubs


def version(number: str) -> str:
    return NCU_VERSION.replace("2025.3.1.0", number)


def machine(stubs: Stubs, **changes: Any) -> System:
    """One with nothing beside its interpreter."""
    return stubs.system(**{"python": Path("/none/python"), **changes})


def said(tool: Check) -> tuple[str, str, str | None]:
    return tool.status, tool.why, tool.remedy


def test_what_is_named_comes_first(tmp_path: Path) -> None:
    """The given path, then the environment's, then PATH, then the usual folders."""
    stubs = Stubs(tmp_path / "path")
    system = machine(stubs)
    usual = Stubs(system.root / "usr/local/cuda/bin").ncu(version=version("1.0"))
    assert tools.find(tools.NCU, system).path == usual
    on_path = stubs.ncu(version=version("2.0"))
    assert tools.find(tools.NCU, system).path == on_path
    named = Stubs(tmp_path / "named").ncu(version=version("3.0"))
    system = machine(stubs, environment={"PATH": str(stubs.folder), "ROOFLINE_NCU": str(named)})
    assert tools.find(tools.NCU, system).path == named
    given = Stubs(tmp_path / "given").ncu(version=version("4.0"))
    found = tools.find(tools.NCU, system, given)
    assert (found.path, found.version, found.usable) == (given, "4.0", True)


def test_a_folder_may_be_named(tmp_path: Path) -> None:
    """Nsight's own folder holds the program."""
    ncu = Stubs(tmp_path / "nsight").ncu()
    assert tools.find(tools.NCU, machine(Stubs(tmp_path / "path")), tmp_path / "nsight").path == ncu


def test_the_newest_of_the_usual_folders(tmp_path: Path) -> None:
    """By the version that each tells: that of a toolkit says nothing of its Nsight's, and 10 is more than 9."""
    system = machine(Stubs(tmp_path))
    Stubs(system.root / "opt/nvidia/nsight-compute/2025.9.0").ncu(version=version("2025.9.0"))
    tenth = Stubs(system.root / "opt/nvidia/nsight-compute/2025.10.0").ncu(version=version("2025.10.0"))
    assert tools.find(tools.NCU, system).path == tenth
    newest = Stubs(system.root / "usr/local/cuda-13.2/bin").ncu(version=version("2026.1.0"))
    assert tools.find(tools.NCU, system).path == newest


def test_a_link_is_the_same_program(tmp_path: Path) -> None:
    """/usr/local/cuda is one of the folders beside it: it is asked once."""
    stubs = Stubs(tmp_path)
    asked: list[Path] = []

    def run(command: Sequence[str | Path], **_: Any) -> Ended:
        asked.append(Path(command[0]))
        return Ended(code=0, out=NCU_VERSION)

    system = machine(stubs, run=run)
    Stubs(system.root / "usr/local/cuda-13.0/bin").ncu()
    (system.root / "usr/local/cuda").symlink_to("cuda-13.0")
    assert tools.find(tools.NCU, system).usable
    assert len(asked) == 1


def test_an_environment_that_is_not_activated(tmp_path: Path) -> None:
    """Its programs lie beside the interpreter that runs."""
    ncu = Stubs(tmp_path / "env" / "bin").ncu()
    assert tools.find(tools.NCU, machine(Stubs(tmp_path), python=ncu.with_name("python"))).path == ncu


def test_another_program_of_that_name_is_passed_over(tmp_path: Path) -> None:
    """npm-check-updates is an ncu, too."""
    Stubs(tmp_path / "node").ncu(version="16.14.20")
    ncu = Stubs(tmp_path / "cuda").ncu()
    path = f"{tmp_path / 'node'}:{tmp_path / 'cuda'}"
    assert tools.find(tools.NCU, machine(Stubs(tmp_path), environment={"PATH": path})).path == ncu


def test_ubuntus_perf_without_its_package_is_passed_over(tmp_path: Path) -> None:
    """The script on PATH only names the package; a perf of another kernel counts all the same."""
    stubs = Stubs(tmp_path)
    wrapper = stubs.perf(version="WARNING: perf not found for kernel 6.8.0-31", version_code=2)
    system = machine(stubs)
    assert said(tools.find(tools.PERF, system)) == (
        "failed",
        f"{wrapper} is not perf, or does not work: it says 'WARNING: perf not found for kernel 6.8.0-31'",
        "Install perf (package linux-perf on Debian, linux-tools-generic on Ubuntu, perf on Fedora), or set "
        "ROOFLINE_PERF to its path.",
    )
    perf = Stubs(system.root / "usr/lib/linux-tools/6.8.0-30-generic").perf()
    found = tools.find(tools.PERF, system)
    assert (found.path, found.version) == (perf, "6.8.12")


@pytest.mark.parametrize("folder", ["usr/bin", "usr/local/bin"])
def test_an_empty_path_hides_nothing(tmp_path: Path, folder: str) -> None:
    """A service may run without PATH: packages install to /usr/bin all the same."""
    system = machine(Stubs(tmp_path / "path"), environment={"PATH": ""})
    perf = Stubs(system.root / folder).perf()
    assert tools.find(tools.PERF, system).path == perf


@pytest.mark.parametrize("given", [True, False])
def test_a_named_path_without_a_program(tmp_path: Path, given: bool) -> None:
    """It is told with where the name came from, and nothing else is taken in its place."""
    stubs = Stubs(tmp_path / "path")
    stubs.ncu()
    path = tmp_path / "none"
    environment: Mapping[str, str] = {} if given else {"ROOFLINE_NCU": str(path)}
    system = machine(stubs, environment={"PATH": str(stubs.folder), **environment})
    source = "the path given for ncu" if given else "the environment's ROOFLINE_NCU"
    asked = path if given else None
    why = f"{source} is {path}, and there is no such file"
    assert said(tools.find(tools.NCU, system, asked)) == ("not_found", why, "Correct it or leave it out.")
    path.mkdir()
    why = f"{source} is the folder {path}, in which there is no ncu"
    assert said(tools.find(tools.NCU, system, asked))[:2] == ("not_found", why)


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    """It is told, with the command that helps."""
    ncu = Stubs(tmp_path / "a folder").ncu()
    ncu.chmod(0o644)
    found = tools.find(tools.NCU, machine(Stubs(tmp_path), environment={"PATH": str(ncu.parent)}))
    assert said(found) == ("failed", f"{ncu} is not executable", f"Run chmod +x '{ncu}'.")


def test_a_program_that_does_not_work(tmp_path: Path) -> None:
    """It is told what it says: a library that is missing, or nothing."""
    ncu = Stubs(tmp_path).ncu(version=None)
    why = said(tools.find(tools.NCU, machine(Stubs(tmp_path))))[1]
    assert why == (
        f"{ncu} is not NVIDIA Nsight Compute, or does not work: it says 'ncu: error while loading shared libraries: "
        "libstub.so.1'"
    )
    Stubs(tmp_path).ncu(version="")
    assert said(tools.find(tools.NCU, machine(Stubs(tmp_path))))[1].endswith("does not work: it says nothing")


@pytest.mark.parametrize(
    ("ended", "status", "why"),
    [
        (Ended(code=None, fault="timeout"), "timeout", "has not said its version within 10 s"),
        (Ended(code=None, fault="cannot_start", reason="Exec format error"), "failed", "can't be started (Exec format"),
    ],
)
def test_a_program_that_does_not_start(tmp_path: Path, ended: Ended, status: str, why: str) -> None:
    """Nobody waits for it longer than 10 s."""
    stubs = Stubs(tmp_path)
    ncu = stubs.ncu()
    found = tools.find(tools.NCU, machine(stubs, run=lambda *_, **__: ended))
    assert found.status == status
    assert found.why.startswith(f"{ncu} {why}")
    assert found.remedy == "Repair it, or set ROOFLINE_NCU to its path."


def test_windows(tmp_path: Path) -> None:
    """Below Program Files, as a batch file, too."""
    ncu = tmp_path / "NVIDIA Corporation" / "Nsight Compute 2025.3.1" / "ncu.bat"
    ncu.parent.mkdir(parents=True)
    ncu.touch(mode=0o755)
    system = machine(
        Stubs(tmp_path / "path"),
        platform="win32",
        environment={"ProgramFiles": str(tmp_path)},
        run=lambda *_, **__: Ended(code=0, out=NCU_VERSION),
    )
    assert tools.find(tools.NCU, system).path == ncu


def test_the_driver_is_asked_as_old_versions_understand(tmp_path: Path) -> None:
    """nvidia-smi --version is newer than drivers in use."""
    stubs = Stubs(tmp_path)
    stubs.nvidia_smi()
    found = tools.find(tools.NVIDIA_SMI, machine(stubs))
    assert (found.version, found.answer) == ("580.65.06", "NVIDIA H200, 580.65.06")
    stubs.nvidia_smi("no_driver")
    assert said(tools.find(tools.NVIDIA_SMI, machine(stubs)))[0] == "failed"
