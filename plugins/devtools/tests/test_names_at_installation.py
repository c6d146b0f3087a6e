"""`oneclaw plugins install` keeps names for the packages that have them, with `--allow-shadowing` as the way round."""

import json
import shutil

import pytest
from installations import write_wheel

from oneclaw_core.process import choose_sandbox

pytestmark = pytest.mark.one_python

TOOL = """
from oneclaw_core import hookimpl, tool

@tool
def {tool}() -> str:
    "Say who; use when asked to."
    return {who!r}

@hookimpl
def register_tools(register):
    register({tool})
"""


def wheel(wheels, name, tool="parcel_find", version="1.0"):
    return write_wheel(wheels, name, version, source=TOOL.format(tool=tool, who=name))


def called(installation, tool="parcel_find"):
    return json.loads(installation.oneclaw("call", tool).stdout)["result"]


def statuses(installation):
    listed = json.loads(installation.oneclaw("plugins", "list", "--json").stdout)
    return {each["name"]: each["status"] for each in listed if each["name"].startswith("acme")}


@pytest.mark.long
def test_a_taken_name_is_refused_before_anything_is_installed(installation, wheels):
    for name in ("acme-zebra", "acme-ape"):
        wheel(wheels, name)
    assert installation.oneclaw("plugins", "install", "acme-zebra").returncode == 0

    done = installation.oneclaw("plugins", "install", "acme-ape")

    assert done.returncode == 1
    assert "the tool 'parcel_find' of acme-ape belongs to acme-zebra" in done.stderr
    assert "--allow-shadowing parcel_find" in done.stderr
    assert done.stdout == ""
    assert not list(installation.site().glob("acme_ape*"))
    assert [each["name"] for each in installation.recorded()] == ["acme-zebra"]

    done = installation.oneclaw("plugins", "install", "--allow-shadowing", "parcel_find", "acme-ape")
    assert done.returncode == 0, done.stderr
    assert called(installation) == "acme-ape"
    assert statuses(installation) == {"acme_ape": "ok", "acme_zebra": "degraded"}


@pytest.mark.long
def test_a_name_that_was_given_away_comes_back_with_the_uninstallation(installation, wheels):
    for name in ("acme-zebra", "acme-ape"):
        wheel(wheels, name)
    assert installation.oneclaw("plugins", "install", "acme-zebra").returncode == 0
    done = installation.oneclaw("plugins", "install", "--allow-shadowing", "parcel_find", "acme-ape")
    assert done.returncode == 0, done.stderr
    assert called(installation) == "acme-ape"

    assert installation.oneclaw("plugins", "uninstall", "acme-ape").returncode == 0
    assert called(installation) == "acme-zebra"
    assert installation.oneclaw("plugins", "install", "acme-ape").returncode == 1


@pytest.mark.skipif(not choose_sandbox().backend, reason="this machine has no sandbox")
def test_names_of_oneclaw_are_refused_without_importing_the_plugin_unconfined(with_uv, wheels, tmp_path):
    ran = tmp_path / "ran"
    noting = f"try:\n    open({str(ran)!r}, 'w').close()\nexcept OSError:\n    pass\n"
    write_wheel(wheels, "oneclaw-files-plus", source=noting + TOOL.format(tool="read_file", who="acme"))

    done = with_uv.oneclaw("plugins", "install", "oneclaw-files-plus")

    assert done.returncode == 1
    expected = "the tool 'read_file' of oneclaw-files-plus belongs to oneclaw-core, a distribution of OneClaw"
    assert expected in done.stderr
    assert not list(with_uv.site().glob("oneclaw_files_plus*"))
    assert not ran.exists()


@pytest.mark.long
def test_without_a_sandbox_names_are_settled_when_the_plugin_is_loaded(with_uv, wheels):
    wheel(wheels, "acme-ape", tool="get_current_time")

    done = with_uv.oneclaw("plugins", "install", "acme-ape", ONECLAW_SANDBOX="off")

    assert "not looked at (there is no sandbox here" in done.stderr
    assert "the tool 'get_current_time' belongs to oneclaw-core" in done.stderr
    assert done.returncode == 1
    assert "acme-ape" not in str(called(with_uv, "get_current_time"))
    done = with_uv.oneclaw(
        "plugins", "install", "--allow-shadowing", "find", wheel(wheels, "acme-cat", "find"), ONECLAW_SANDBOX="off"
    )
    assert done.returncode == 2
    assert "give the name after the installation" in done.stderr


@pytest.mark.long
def test_a_command_of_oneclaw_itself_cannot_be_given_away(with_uv, wheels):
    source = """
import click
from oneclaw_core import hookimpl

@click.command()
def tools():
    pass

@hookimpl
def register_commands(register):
    register("tools", tools)

@hookimpl
def register_chat_commands(register):
    register("stop", "acme_commands:tools")
"""
    write_wheel(wheels, "acme-commands", source=source)
    for options in ((), ("--allow-shadowing", "tools")):
        done = with_uv.oneclaw("plugins", "install", *options, "acme-commands")
        assert done.returncode == 1
        assert "the command 'tools' of acme-commands belongs to oneclaw-core" in done.stderr
        assert "the chat command 'stop' of acme-commands belongs to oneclaw-core" in done.stderr
        assert not list(with_uv.site().glob("acme_commands*"))


@pytest.mark.long
def test_a_tool_of_a_source_is_not_taken_over(with_uv, wheels):
    source = """
from oneclaw_core import hookimpl, tool

@tool
def parcel_find() -> str:
    "Say who; use when asked to."
    return "source"

def listed(context, tools):
    tools.publish([parcel_find])

@hookimpl
def register_tools(register):
    register.source("parcels", "acme_source:listed", listing="acme_source:listed")
"""
    write_wheel(wheels, "acme-source", source=source)
    wheel(wheels, "acme-one")
    assert with_uv.oneclaw("plugins", "install", "acme-source").returncode == 0

    done = with_uv.oneclaw("plugins", "install", "acme-one")

    assert done.returncode == 1
    assert "the tool 'parcel_find' of acme-one is one that acme_source has now" in done.stderr


@pytest.mark.long
def test_two_packages_of_one_command_cannot_have_one_name(with_uv, wheels):
    for name in ("acme-one", "acme-two"):
        wheel(wheels, name)

    done = with_uv.oneclaw("plugins", "install", "acme-one", "acme-two")

    assert done.returncode == 1
    assert "'parcel_find' of acme-one is claimed by acme-one and acme-two" in done.stderr
    assert not list(with_uv.site().glob("acme_*"))
    done = with_uv.oneclaw("plugins", "install", "--allow-shadowing", "parcel_find", "acme-one", "acme-two")
    assert done.returncode == 2
    assert "acme-one and acme-two both register that name" in done.stderr


@pytest.mark.long
def test_an_upgrade_that_takes_a_name_is_refused_and_one_of_the_owner_is_not(with_uv, wheels):
    wheel(wheels, "acme-one")
    wheel(wheels, "acme-two", tool="other_tool")
    assert with_uv.oneclaw("plugins", "install", "acme-one", "acme-two").returncode == 0
    wheel(wheels, "acme-one", version="2.0")
    wheel(wheels, "acme-two", version="2.0")

    done = with_uv.oneclaw("plugins", "upgrade", "acme-two")
    assert done.returncode == 1
    assert "the tool 'parcel_find' of acme-two belongs to acme-one" in done.stderr
    assert with_uv.oneclaw("plugins", "upgrade", "acme-one").returncode == 0
    assert called(with_uv) == "acme-one"
    assert called(with_uv, "other_tool") == "acme-two"


@pytest.mark.long
def test_a_name_can_be_given_to_a_package_that_is_installed(with_uv, wheels):
    for name in ("acme-one", "acme-two"):
        wheel(wheels, name)
    assert with_uv.oneclaw("plugins", "install", "acme-one").returncode == 0
    second = wheel(wheels, "acme-two")
    shutil.unpack_archive(second, with_uv.site(), "zip")
    assert called(with_uv) == "acme-one"
    assert statuses(with_uv) == {"acme_one": "ok", "acme_two": "degraded"}

    done = with_uv.oneclaw("plugins", "install", "--allow-shadowing", "parcel_find", "acme-two")
    assert done.returncode == 0, done.stderr
    assert called(with_uv) == "acme-two"

    done = with_uv.oneclaw("plugins", "install", "--allow-shadowing", "no_such_name", "acme-two")
    assert done.returncode == 2
    assert "no package of these registers that name" in done.stderr


@pytest.mark.long
def test_sync_gives_each_name_back_to_its_owner(with_uv, wheels):
    wheel(wheels, "acme-zebra")
    wheel(wheels, "acme-ape")
    assert with_uv.oneclaw("plugins", "install", "acme-zebra").returncode == 0
    options = ("--allow-shadowing", "parcel_find")
    assert with_uv.oneclaw("plugins", "install", *options, "acme-ape").returncode == 0
    for folder in with_uv.site().glob("acme_*"):  # as when the environment is made again
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    assert statuses(with_uv) == {}

    done = with_uv.oneclaw("plugins", "sync")
    assert done.returncode == 0, done.stderr

    assert called(with_uv) == "acme-ape"
    assert statuses(with_uv) == {"acme_ape": "ok", "acme_zebra": "degraded"}
