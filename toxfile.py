"""One virtual environment for every tox environment that says ``runner = shared`` and gives the same ``env_dir``.

tox stores the name of the environment in its folder and rebuilds a folder that another name has used. Here all
environments install the same packages, and torch among them takes gigabytes, so the name is left out of the comparison.
Everything else that makes tox install again (another Python, other dependencies) still does.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from tox.plugin import impl
from tox.tox_env.api import ToxEnv
from tox.tox_env.info import Info
from tox.tox_env.python.virtual_env.runner import VirtualEnvRunner
from tox.tox_env.register import ToxEnvRegister


class NamelessInfo(Info):
    """What tox remembers of a folder, without the name of the environment that set it up."""

    def compare(
        self, value: Any, section: str, sub_section: str | None = None
    ) -> AbstractContextManager[tuple[bool, Any | None]]:
        if section == ToxEnv.__name__:
            value = {**value, "name": "shared"}
        return super().compare(value, section, sub_section)


class SharedRunner(VirtualEnvRunner):
    """tox's own runner, indifferent to which environment used the folder before."""

    @staticmethod
    def id() -> str:
        return "shared"

    @property
    def cache(self) -> Info:
        return NamelessInfo(self.env_dir)


@impl
def tox_register_tox_env(register: ToxEnvRegister) -> None:
    register.add_run_env(SharedRunner)
