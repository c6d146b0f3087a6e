"""Plugins installed, upgraded, uninstalled and installed again in real environments, with pip and with uv."""

import json
import stat
from hashlib import sha256

import pytest
from installations import write_wheel

pytestmark = pytest.mark.one_python


def test_what_is_installed_is_told_and_recorded_and_can_be_used_and_a_file_is_no_newer(installation, tmp_path):
    wheel = write_wheel(tmp_path / "my wheels", requires=["oneclaw-core>=0.1"])
    done = installation.oneclaw("plugins", "install", wheel)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "acme-tools 1.0 is installed",
        "+ plugin acme_tools (acme-tools 1.0)",
        "  + groups: acme_tools_group",
        "  + tools: acme_tools_tool",
    ]
    assert installation.recorded() == [
        {
            "name": "acme-tools",
            "requirement": str(wheel),
            "version": "1.0",
            "sha256": sha256(wheel.read_bytes()).hexdigest(),
        }
    ]
    assert stat.S_IMODE((installation.home / "plugins.json").stat().st_mode) == 0o600
    called = installation.oneclaw("call", "acme_tools_tool", "{}")
    assert json.loads(called.stdout)["result"] == "hello"
    done = installation.oneclaw("plugins", "upgrade", "acme-tools")
    assert done.stdout.splitlines() == [
        "acme-tools 1.0 is installed, as it was before, from acme_tools-1.0-py3-none-any.whl; install a newer one by "
        "its path, and uninstall acme-tools first if that has the same version"
    ]


def test_upgrading_takes_the_newest_that_fits_and_uninstalling_forgets(installation, wheels):
    write_wheel(wheels)
    assert installation.oneclaw("plugins", "install", "Acme.Tools<3").returncode == 0
    for version in ("2.0", "3.0"):
        write_wheel(wheels, version=version)
    done = installation.oneclaw("plugins", "upgrade", "--all")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "acme-tools 1.0 was replaced by 2.0",
        "  plugin acme_tools: acme-tools 1.0 -> acme-tools 2.0",
    ]
    assert [(each["requirement"], each["version"]) for each in installation.recorded()] == [("Acme.Tools<3", "2.0")]
    done = installation.oneclaw("plugins", "uninstall", "acme_tools")
    assert done.stdout.splitlines()[:2] == ["acme-tools is uninstalled", "- plugin acme_tools (acme-tools 2.0)"]
    assert installation.recorded() == []


def test_what_is_no_plugin_is_uninstalled_again(with_uv, tmp_path):
    wheel = write_wheel(tmp_path / "wheels", "acme-library", is_plugin=False)
    done = with_uv.oneclaw("plugins", "install", wheel)
    assert (done.returncode, done.stdout) == (1, "")
    assert "acme-library 1.0 is no plugin (it has no entry point in the group 'oneclaw'): it was uninstalled again" in (
        done.stderr
    )
    assert not list(with_uv.site().glob("acme_library*"))
    assert with_uv.recorded() == []


def test_sync_installs_again_what_is_missing_and_what_is_for_another_core(with_uv, wheels, tmp_path):
    wheel, other = write_wheel(wheels), write_wheel(wheels, "acme-other")
    done = with_uv.oneclaw("plugins", "install", wheel, "acme-other")
    assert done.returncode == 0, done.stderr
    assert with_uv.oneclaw("plugins", "sync").stdout == "nothing is missing\n"
    # As if OneClaw had been installed anew, in a version for which only a newer acme-other is made.
    for path in with_uv.site().glob("acme_tools*"):
        path.rename(tmp_path / path.name)
    metadata = with_uv.site() / "acme_other-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("\n\n", "\nRequires-Dist: oneclaw-core<0.0.1\n\n", 1))
    write_wheel(wheels, "acme-other", "1.1")
    other.unlink()

    done = with_uv.oneclaw("plugins", "sync", "--dry-run")
    assert done.stdout.splitlines() == [
        f"acme-tools: it is not installed; would be installed: {wheel}",
        "acme-other: version 1.0 was made for another oneclaw-core; would be installed: acme-other",
    ]
    assert not list(with_uv.site().glob("acme_tools*"))
    done = with_uv.oneclaw("plugins", "sync")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["acme-tools 1.0 is installed", "acme-other 1.0 was replaced by 1.1"]
    assert [each["version"] for each in with_uv.recorded()] == ["1.0", "1.1"]


def test_what_cannot_be_installed_again_does_not_keep_the_rest_away(with_uv, wheels):
    write_wheel(wheels)
    with_uv.home.mkdir()
    record = with_uv.home / "plugins.json"
    record.touch(mode=0o600)
    plugins = [
        {"name": "acme-gone", "requirement": str(wheels / "acme_gone-1-py3-none-any.whl"), "version": "1"},
        {"name": "acme-unknown", "requirement": "acme-unknown", "version": "1"},
        {"name": "acme-evil", "requirement": "--target=/", "version": "1"},
        {"name": "acme-tools", "requirement": "acme-tools", "version": "0.9"},
    ]
    record.write_text(json.dumps({"format": 1, "plugins": plugins}))
    done = with_uv.oneclaw("plugins", "sync")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "acme-tools 1.0 is installed"
    for name in ("acme-gone: there is no file", "acme-evil: '--target=/' is an option", "acme-unknown: "):
        assert name in done.stderr
    assert [each["name"] for each in with_uv.recorded()] == [each["name"] for each in plugins]


def test_a_plugin_for_another_core_is_not_installed_and_the_core_stays(with_pip, wheels):
    write_wheel(wheels, requires=["oneclaw-core>=99"])
    write_wheel(wheels, "oneclaw-core", "99.0", is_plugin=False)
    done = with_pip.oneclaw("plugins", "install", "acme-tools")
    assert (done.returncode, done.stdout) == (1, "")
    assert "oneclaw-core>=99" in done.stderr
    assert "oneclaw: pip failed (exit status 1); what it printed above says why" in done.stderr
    assert with_pip.recorded() == []


def test_a_plugin_that_does_not_load_is_told_and_stays_recorded(with_uv, tmp_path):
    wheel = write_wheel(tmp_path / "wheels", source="import nothing_of_that_name\n")
    done = with_uv.oneclaw("plugins", "install", wheel)
    assert done.returncode == 1
    assert "oneclaw: plugin acme_tools does not work: ModuleNotFoundError" in done.stderr
    assert [each["name"] for each in with_uv.recorded()] == ["acme-tools"]


def test_a_plugin_that_ends_the_process_can_be_replaced(with_uv, tmp_path):
    bad = write_wheel(tmp_path / "wheels", source="import os\nos._exit(7)\n")
    done = with_uv.oneclaw("plugins", "install", bad)
    assert done.returncode == 1
    assert "plugin acme_tools does not work: " in done.stderr
    assert "it ended with exit status 7" in done.stderr
    good = write_wheel(tmp_path / "wheels", version="1.1")
    assert "acme-tools 1.0 was replaced by 1.1" in with_uv.oneclaw("plugins", "install", good).stdout


def test_credentials_in_a_url_are_not_shown(with_pip):
    done = with_pip.oneclaw(
        "plugins", "install", "acme-tools @ http://somebody:a-long-password@127.0.0.1:9/acme_tools-1.0-py3-none-any.whl",
        PIP_RETRIES="0",
    )  # fmt: skip
    assert done.returncode == 1
    assert "pip failed" in done.stderr
    assert "a-long-password" not in done.stderr + done.stdout
