"""One page says what a plugin may do before it is installed; a newer version shows only what is new."""

import json
import os
import subprocess

import pytest
from installations import write_wheel
from pseudo_terminal import PseudoTerminal

from oneclaw_core.process import choose_sandbox

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(not choose_sandbox().backend, reason="this machine has no sandbox"),
]

SOURCE = """
from oneclaw_core import ToolGroupDefinition, hookimpl, tool

@tool(group="parcels", required_permissions=["network.public"])
def parcel_find(number: str) -> str:
    "Find a parcel; use it when asked where one is."
    return number

@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("parcels", "Parcels", "Finds parcels"))

@hookimpl
def register_tools(register):
    register(parcel_find)
"""
WIDER = (
    SOURCE
    + """
@hookimpl
def after_tool_call(context, call, result):
    pass
"""
)
DECLARED = {"format": 1, "hosts": [{"name": "api.example.com", "reason": "looks up parcels"}]}


def wheel(wheels, version="1.0", source=SOURCE, declared=DECLARED):
    files = {"acme_parcels/__init__.py": source, "acme_parcels/capabilities.json": json.dumps(declared)}
    return write_wheel(wheels, "acme-parcels", version, files=files)


def listed(installation):
    plugins = json.loads(installation.oneclaw("plugins", "list", "--json").stdout)
    (found,) = [each for each in plugins if each["name"] == "acme_parcels"]
    return found


def test_a_person_sees_one_page_and_no_is_the_default(with_uv, wheels):
    wheel(wheels)
    environ = {**os.environ, **with_uv.environ, "ONECLAW_HOME": str(with_uv.home)}
    with PseudoTerminal("plugins", "install", "acme-parcels", environ=environ, python=str(with_uv.python)) as terminal:
        terminal.expect("plugin acme_parcels (acme-parcels 1.0)")
        terminal.expect("1 tool: about 0 tokens in every request; ")
        terminal.expect("- permission network.public")
        terminal.expect("- host api.example.com (looks up parcels)")
        terminal.expect("Not enforced: a plugin runs in OneClaw's process with your rights.")
        terminal.expect("[y/N]: ")
        terminal.type("\n")
        terminal.expect("nothing was changed")
        assert terminal.exit_status() == 1
    assert not list(with_uv.site().glob("acme_parcels*"))


@pytest.mark.long
def test_a_wider_version_shows_what_is_new_and_is_held_to_what_was_reviewed(with_uv, wheels):
    wheel(wheels)
    done = with_uv.oneclaw("plugins", "install", "--yes", "--json", "acme-parcels")
    assert done.returncode == 0, done.stderr
    (plugin,) = json.loads(done.stdout)["plugins"]
    assert {"kind": "host", "name": "api.example.com", "is_new": True, "reason": "looks up parcels"} in (
        plugin["capabilities"]
    )
    assert plugin["tokens"]["core"] == 0
    found = listed(with_uv)
    assert (found["status"], found["reviewed"], found["problems"]) == ("ok", True, [])

    wider = {**DECLARED, "programs": [{"name": "lp", "reason": "prints"}]}
    newer = wheel(wheels, "2.0", WIDER, wider)
    pip = ["pip", "install", "--quiet", "--no-deps", "--python", str(with_uv.python), str(newer)]
    subprocess.run([with_uv.environ["UV"], *pip], check=True, env=with_uv.environ)  # not by OneClaw

    found = listed(with_uv)
    assert (found["status"], found["tools"]) == ("degraded", ["parcel_find"])
    (problem,) = found["problems"]
    assert "sees tool calls and their results (after_tool_call); starts the program lp" in problem["cause"]

    wheel(wheels, "3.0", WIDER, wider)
    done = with_uv.oneclaw("plugins", "upgrade", "--yes", "acme-parcels")
    assert "new since you reviewed it:" in done.stderr
    assert "- starts the program lp (prints)" in done.stderr
    assert "permission network.public" not in done.stderr
    assert (listed(with_uv)["version"], listed(with_uv)["status"]) == ("3.0", "ok")


@pytest.mark.long
def test_without_a_sandbox_the_page_says_that_nothing_looked(with_uv, wheels):
    wheel(wheels)

    done = with_uv.oneclaw("plugins", "install", "--yes", "acme-parcels", ONECLAW_SANDBOX="off")

    assert done.returncode == 0, done.stderr
    assert (
        "not looked at (there is no sandbox here: the setting sandbox is off): what it registers is not known"
        in done.stderr
    )
    assert "- host api.example.com (looks up parcels)" in done.stderr
    assert "see what it may do with: oneclaw plugins review acme_parcels" in done.stderr
    assert listed(with_uv)["reviewed"] is False
