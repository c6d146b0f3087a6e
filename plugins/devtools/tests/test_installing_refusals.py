"""What is refused before any program is run."""

from pathlib import Path

import pytest
from oneclaw_devtools.installing.environment import Environment
from oneclaw_devtools.installing.installer import PluginInstaller
from oneclaw_devtools.installing.package_manager import PackageManager

from oneclaw_core import NotFoundError, OneClawError, ProtectedError, UsageError, find_home


@pytest.fixture
def installer(tmp_path):
    """An installer whose programs cannot be started."""
    environment = Environment("no environment", Path("/nowhere/python"), Path("/nowhere"))
    return PluginInstaller(find_home({}, tmp_path / "home"), PackageManager(environment, {}, print), tmp_path)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("oneclaw-core", ProtectedError, "oneclaw-core is OneClaw itself"),
        ("OneClaw_Core", ProtectedError, "oneclaw-core is OneClaw itself"),
        ("pytest", UsageError, "pytest is installed, but is no plugin"),
        ("nothing-of-that-name", NotFoundError, "nothing-of-that-name is not installed"),
        ("--all", UsageError, "'--all' is no package's name"),
        ("acme-tools>1", UsageError, "is no package's name"),
        ("", UsageError, "is no package's name"),
    ],
)
def test_uninstalling(installer, text, error, said):
    with pytest.raises(error, match=said):
        installer.unwanted([text])


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("nothing-of-that-name", NotFoundError, "is not installed"),
        ("pytest", UsageError, "pytest is installed, but is no plugin"),
        ("oneclaw-core", UsageError, "oneclaw-core is OneClaw itself"),
    ],
)
def test_upgrading(installer, text, error, said):
    with pytest.raises(error, match=said):
        installer.wanted_newer([text])


def test_installing_what_is_there_and_no_plugin(installer):
    with pytest.raises(UsageError, match="pytest is installed, but is no plugin"):
        installer.wanted(["pytest>=1"])


def test_naming_something_twice(installer):
    with pytest.raises(UsageError, match="acme-tools is named twice"):
        installer.wanted(["acme_tools", "Acme.Tools>=1"])


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 1, "plugins": [{"name": 3}]}', '{"format": 2}'])
def test_a_damaged_record(installer, tmp_path, content):
    path = tmp_path / "home" / "plugins.json"
    path.parent.mkdir()
    path.touch(mode=0o600)
    path.write_text(content)
    for refused in (installer.missing, lambda: installer.plan(installer.wanted(["acme-tools"]))):
        with pytest.raises(OneClawError, match=r"is damaged|newer OneClaw"):
            refused()


def test_a_record_that_others_can_write(installer, tmp_path):
    path = tmp_path / "home" / "plugins.json"
    path.parent.mkdir()
    path.write_text('{"format": 1, "plugins": []}')
    path.chmod(0o666)
    with pytest.raises(OneClawError, match="open to other users"):
        installer.missing()
