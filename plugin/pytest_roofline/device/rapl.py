"""The energy that processor packages use, as Intel's and AMD's processors count it: RAPL, through Linux's powercap."""

from __future__ import annotations

from pathlib import Path

POWERCAP = Path("/sys/class/powercap")


class Rapl:
    """All packages of this machine together, with all programs that run on them; memory is not in it.

    A package is a zone ``intel-rapl:N`` with the name ``package-N``, on AMD too. Its counter ``energy_uj`` starts again
    at 0 beyond ``max_energy_range_uj`` (Linux, Documentation/power/powercap): it has to be read more often than it
    wraps, which at 200 W takes about 20 minutes.

    :param folder: the powercap class in the mounted sys file system.
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        self.missing: dict[str, str] = {}
        self._used_uj = 0
        self._zones: dict[Path, tuple[int, int]] = {}
        """Counter at the last reading and its range, by folder."""
        try:
            for zone in sorted(folder.glob("intel-rapl:*")):
                if (zone / "name").read_text().startswith("package"):
                    self._zones[zone] = (_number(zone / "energy_uj"), _number(zone / "max_energy_range_uj"))
        except (OSError, ValueError) as error:
            self._give_up(error)
        if not self._zones and not self.missing:
            self.missing["energy_j"] = "the system tells no energy of its processors (no RAPL in powercap)"

    def energy_j(self) -> float | None:
        """Read what was used since this was made; None where nothing tells."""
        if self.missing:
            return None
        try:
            for zone, (last, wraps_at) in self._zones.items():
                now = _number(zone / "energy_uj")
                self._used_uj += now - last if now >= last else now + wraps_at - last
                self._zones[zone] = (now, wraps_at)
        except (OSError, ValueError) as error:
            self._give_up(error)
            return None
        return 1e-6 * self._used_uj

    def _give_up(self, error: Exception) -> None:
        if isinstance(error, PermissionError):
            # Since Linux 5.10, for what else can be learned from it (CVE-2020-8694).
            why = "root alone may read the processors' energy (energy_uj in powercap)"
        else:
            why = "the processors' energy can't be read (energy_uj in powercap)"
        self.missing["energy_j"] = why


def _number(path: Path) -> int:
    return int(path.read_text())
