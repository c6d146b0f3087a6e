"""A scheduled task of Windows. See the Task Scheduler Schema, version 1.4, in Microsoft's documentation."""

from __future__ import annotations

import getpass
import os
import subprocess
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree as Xml

from oneclaw_serve.autostart.definition import MARK, ServiceDefinition, State, check_command, run_command

_NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"
_NO_BATTERY = ("DisallowStartIfOnBatteries", "StopIfGoingOnBatteries")


class WindowsTask(ServiceDefinition):
    """A scheduled task that starts when this user logs on."""

    title: ClassVar = "scheduled task of Windows"
    is_tried: ClassVar = False
    program: ClassVar = "schtasks"

    @property
    def path(self) -> Path:
        """See ``ServiceDefinition``."""
        return self.autostart.home / f"{self.autostart.name}-task.xml"

    def content(self) -> bytes:
        """See ``ServiceDefinition``."""
        task = Xml.Element("Task", {"version": "1.4", "xmlns": _NAMESPACE})
        about = Xml.SubElement(task, "RegistrationInfo")
        _add(about, "Author", MARK)
        _add(about, "Description", "OneClaw")
        trigger = Xml.SubElement(Xml.SubElement(task, "Triggers"), "LogonTrigger")
        _add(trigger, "Enabled", "true")
        # A trigger for the logons of all users needs an administrator.
        _add(trigger, "UserId", _user())
        _add(trigger, "Delay", "PT30S")
        principal = Xml.SubElement(Xml.SubElement(task, "Principals"), "Principal", {"id": "Author"})
        _add(principal, "UserId", _user())
        _add(principal, "LogonType", "InteractiveToken")
        _add(principal, "RunLevel", "LeastPrivilege")
        settings = Xml.SubElement(task, "Settings")
        _add(settings, "MultipleInstancesPolicy", "IgnoreNew")
        for name in _NO_BATTERY:
            _add(settings, name, "false")
        _add(settings, "StartWhenAvailable", "true")
        _add(settings, "ExecutionTimeLimit", "PT0S")
        restart = Xml.SubElement(settings, "RestartOnFailure")
        _add(restart, "Interval", "PT1M")
        _add(restart, "Count", "255")
        action = Xml.SubElement(Xml.SubElement(task, "Actions", {"Context": "Author"}), "Exec")
        _add(action, "Command", _windowless(self.autostart.program[0]))
        _add(action, "Arguments", subprocess.list2cmdline(["-P", "-c", self._code()]))
        _add(action, "WorkingDirectory", str(self.autostart.home))
        content: bytes = Xml.tostring(task, encoding="utf-16", xml_declaration=True)
        return content

    def _code(self) -> str:
        """Return a program that sets the environment first, which a task cannot do."""
        arguments = self.autostart.program[self.autostart.program.index("serve") :]
        code = (
            f"import os, sys; os.environ.update({dict(self.autostart.environment)!r}); "
            f"sys.argv[1:] = {list(arguments)!r}; from oneclaw_core.__main__ import run_program; run_program()"
        )
        # The Task Scheduler replaces %NAME% and $(NAME).
        return code.replace("%", "\\x25").replace("$", "\\x24")

    def is_ours(self, content: bytes) -> bool:
        """See ``ServiceDefinition``."""
        try:
            return Xml.fromstring(content).findtext(f".//{{{_NAMESPACE}}}Author") == MARK  # noqa: S314  # of the home
        except Xml.ParseError:
            return False

    def program_of(self, content: bytes) -> Path | None:
        """See ``ServiceDefinition``."""
        found = Xml.fromstring(content).findtext(f".//{{{_NAMESPACE}}}Command")  # noqa: S314  # as above
        return Path(found) if found else None

    def enable(self, *, is_changed: bool) -> list[str]:
        """See ``ServiceDefinition``."""
        if is_changed:
            check_command("schtasks", "/Create", "/TN", self.autostart.name, "/XML", str(self.path), "/F")
        check_command("schtasks", "/Run", "/TN", self.autostart.name)
        return []

    def disable(self) -> None:
        """See ``ServiceDefinition``."""
        if not self.state().is_enabled:
            return
        run_command("schtasks", "/End", "/TN", self.autostart.name)
        check_command("schtasks", "/Delete", "/TN", self.autostart.name, "/F")

    def state(self) -> State:
        """See ``ServiceDefinition``."""
        return State(run_command("schtasks", "/Query", "/TN", self.autostart.name).returncode == 0, None)


def _add(parent: Xml.Element, name: str, text: str) -> None:
    Xml.SubElement(parent, name).text = text


def _user() -> str:
    domain = os.environ.get("USERDOMAIN")
    return f"{domain}\\{getpass.getuser()}" if domain else getpass.getuser()


def _windowless(python: str) -> str:
    path = Path(python)
    found = path.with_name(f"{path.stem}w{path.suffix}")
    return str(found) if found.exists() else python
