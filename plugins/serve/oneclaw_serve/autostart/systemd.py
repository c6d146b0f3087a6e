"""A systemd user unit. See ``systemd.service(5)``, ``systemd.exec(5)`` and ``systemd.syntax(7)``."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import ClassVar

from oneclaw_core import OneClawError
from oneclaw_serve.autostart.definition import MARK, ServiceDefinition, State, check_command, run_command

_UNIT = """# {mark}
[Unit]
Description=OneClaw{what}
Documentation=https://oneclaw-core.readthedocs.io/
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart=:{program}
WorkingDirectory=-{folder}
{environment}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 78
TimeoutStopSec=90
WatchdogSec=120
KillMode=mixed
OOMPolicy=continue
LimitCORE=0
LockPersonality=yes
RestrictRealtime=yes
{privileges}
[Install]
WantedBy=default.target
"""


def quoted(text: str) -> str:
    """Quote a word for a list of a unit; with ``:`` before the command, ``$`` means itself."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


class SystemdUnit(ServiceDefinition):
    """A systemd user unit."""

    title: ClassVar = "systemd user unit"
    is_tried: ClassVar = True
    program: ClassVar = "systemctl"

    @property
    def name(self) -> str:
        """The name of the unit."""
        return f"{self.autostart.name}.service"

    @property
    def path(self) -> Path:
        """See ``ServiceDefinition``."""
        configuration = os.environ.get("XDG_CONFIG_HOME", "")
        folder = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
        return folder / "systemd" / "user" / self.name

    def content(self) -> bytes:
        """See ``ServiceDefinition``."""
        autostart = self.autostart
        profile = autostart.environment.get("ONECLAW_PROFILE")
        text = _UNIT.format(
            mark=MARK,
            what=f" ({profile})" if profile else "",
            program=" ".join(map(quoted, autostart.program)),
            folder=str(autostart.home / "workspace").replace("%", "%%"),
            environment="\n".join(
                f"Environment={quoted(f'{name}={value}')}" for name, value in autostart.environment.items()
            ),
            privileges="" if _sandbox_needs_setuid() else "NoNewPrivileges=yes\n",
        )
        return text.encode(errors="surrogateescape")

    def is_ours(self, content: bytes) -> bool:
        """See ``ServiceDefinition``."""
        return content.startswith(f"# {MARK}\n".encode())

    def program_of(self, content: bytes) -> Path | None:
        """See ``ServiceDefinition``."""
        # systemd takes no program with a quote or a backslash in its name.
        found = re.search(rb'^ExecStart=:"([^"]*)"', content, re.MULTILINE)
        return Path(os.fsdecode(found[1].replace(b"%%", b"%"))) if found else None

    def enable(self, *, is_changed: bool) -> list[str]:
        """See ``ServiceDefinition``."""
        self._verify()
        check_command("systemctl", "--user", "enable", self.name)
        if not _has_manager():
            return [
                "no systemd of this user is reached here, so it was not started",
                f"in a login of this user, run: systemctl --user daemon-reload && systemctl --user restart {self.name}",
            ]
        check_command("systemctl", "--user", "daemon-reload")
        check_command("systemctl", "--user", "restart" if is_changed else "start", self.name)
        lines = [f"its log: journalctl --user -u {self.name}"]
        if _lingers() is False:
            lines.append("it ends when you log out, and starts when you log in; else run: loginctl enable-linger")
        return lines

    def _verify(self) -> None:
        if shutil.which("systemd-analyze") is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            environ = {**os.environ, "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR") or folder}
            found = run_command("systemd-analyze", "--user", "verify", str(self.path), environ=environ)
        if found.returncode != 0:
            raise OneClawError(f"systemd refuses {self.path}: {found.stderr.strip()}")

    def disable(self) -> None:
        """See ``ServiceDefinition``."""
        now = ["--now"] if _has_manager() else []
        check_command("systemctl", "--user", "disable", *now, self.name)

    def removed(self) -> None:
        """Have systemd forget the file."""
        if _has_manager():
            run_command("systemctl", "--user", "daemon-reload")
            run_command("systemctl", "--user", "reset-failed", self.name)

    def state(self) -> State:
        """See ``ServiceDefinition``."""
        is_enabled = run_command("systemctl", "--user", "is-enabled", self.name).returncode == 0
        if not _has_manager():
            return State(is_enabled, None, "no systemd of this user is reached here")
        active = run_command("systemctl", "--user", "is-active", self.name).stdout.strip()
        note = "" if active in ("active", "inactive") else f"systemd says: {active}"
        if _lingers() is False:
            note = note or "it runs while you are logged in; else run: loginctl enable-linger"
        return State(is_enabled, active in ("active", "reloading", "activating"), note)


def _has_manager() -> bool:
    return run_command("systemctl", "--user", "show-environment").returncode == 0


def _lingers() -> bool | None:
    found = run_command("loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value")
    return found.stdout.strip() == "yes" if found.returncode == 0 else None


def _sandbox_needs_setuid() -> bool:
    """Return True if bubblewrap gains rights by its file's mode, which NoNewPrivileges would prevent."""
    bubblewrap = shutil.which("bwrap")
    return bubblewrap is not None and bool(Path(bubblewrap).stat().st_mode & stat.S_ISUID)
