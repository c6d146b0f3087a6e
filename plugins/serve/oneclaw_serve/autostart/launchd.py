"""A launchd agent. See ``launchd.plist(5)``."""

from __future__ import annotations

import os
import plistlib
from pathlib import Path
from typing import ClassVar

from oneclaw_serve.autostart.definition import MARK, ServiceDefinition, State, check_command, run_command

_COMMENT = f"<!-- {MARK} -->\n".encode()


class LaunchdAgent(ServiceDefinition):
    """A launchd agent of this user."""

    title: ClassVar = "launchd agent"
    is_tried: ClassVar = False
    program: ClassVar = "launchctl"

    @property
    def label(self) -> str:
        """The name of the agent."""
        return f"io.readthedocs.oneclaw-core.{self.autostart.name}"

    @property
    def path(self) -> Path:
        """See ``ServiceDefinition``."""
        return Path.home() / "Library" / "LaunchAgents" / f"{self.label}.plist"

    def content(self) -> bytes:
        """See ``ServiceDefinition``."""
        log = str(self.autostart.home / "logs" / "serve.log")
        document = plistlib.dumps(
            {
                "Label": self.label,
                "ProgramArguments": list(self.autostart.program),
                "EnvironmentVariables": dict(self.autostart.environment),
                "WorkingDirectory": str(self.autostart.home),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": 30,
                "ExitTimeOut": 90,
                "ProcessType": "Background",
                "LimitLoadToSessionType": ["Aqua", "Background"],
                "StandardOutPath": log,
                "StandardErrorPath": log,
            },
            sort_keys=False,
        )
        return document.replace(b"<plist ", _COMMENT + b"<plist ", 1)

    def is_ours(self, content: bytes) -> bool:
        """See ``ServiceDefinition``."""
        return _COMMENT in content

    def program_of(self, content: bytes) -> Path | None:
        """See ``ServiceDefinition``."""
        return Path(plistlib.loads(content)["ProgramArguments"][0])

    def enable(self, *, is_changed: bool) -> list[str]:
        """See ``ServiceDefinition``."""
        if is_changed:
            run_command("launchctl", "bootout", self._service)
        if is_changed or self.state().is_running is None:
            check_command("launchctl", "bootstrap", self._domain, str(self.path))
        return [f"its log: {self.autostart.home / 'logs' / 'serve.log'}"]

    def disable(self) -> None:
        """See ``ServiceDefinition``."""
        run_command("launchctl", "bootout", self._service)

    def state(self) -> State:
        """See ``ServiceDefinition``."""
        found = run_command("launchctl", "print", self._service)
        if found.returncode != 0:
            return State(False, None)
        return State(True, "state = running" in found.stdout)

    @property
    def _domain(self) -> str:
        return f"gui/{os.getuid()}"

    @property
    def _service(self) -> str:
        return f"{self._domain}/{self.label}"
