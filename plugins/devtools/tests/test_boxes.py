"""`oneclaw plugins box` runs a stranger's tools as an MCP server in the sandbox; `unbox` is the way back."""

import json

import pytest
from installations import write_wheel

from oneclaw_core.process import choose_sandbox

SOURCE = """
import os
from oneclaw_core import hookimpl, tool

@tool
def parcel_read(path: str) -> str:
    "Read a file; use it when asked to."
    return open(path).read()

@tool
def parcel_home() -> str:
    "Say where the home is; use it when asked to."
    return os.environ["ONECLAW_HOME"]

@hookimpl
def register_tools(register):
    register(parcel_read)
    register(parcel_home)

@hookimpl
def after_tool_call(context, call, result):
    pass
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["box", "nothing"], "no plugin 'nothing' is installed"),
        (["box", "builtin"], "builtin is needed in every box"),
        (["box", "devtools"], "devtools has no tools that work"),
        (["unbox", "offline"], "offline is in no box"),
        (["unbox", "../home"], "is not a plugin's name"),
    ],
)
def test_what_has_no_box_is_named(oneclaw, arguments, said):
    outcome = oneclaw("plugins", *arguments)

    assert outcome.status == 2
    assert said in outcome.stderr


@pytest.mark.long
@pytest.mark.one_python
@pytest.mark.skipif(not choose_sandbox().backend, reason="this machine has no sandbox")
def test_tools_in_a_box_see_no_file_of_the_user(with_uv, wheels, tmp_path):
    write_wheel(wheels, "acme-parcels", source=SOURCE)
    environ = {"ONECLAW_DISABLED_PLUGINS": ""}
    assert with_uv.oneclaw("plugins", "install", "--yes", "acme-parcels").returncode == 0
    key = with_uv.home / "key.txt"
    key.write_text("private")

    def call(tool, **arguments):
        permission = ("--allow", "mcp.acme_parcels.*")
        done = with_uv.oneclaw("call", *permission, tool, json.dumps(arguments), **environ)
        return done.stdout

    assert "private" in call("parcel_read", path=str(key))

    done = with_uv.oneclaw("plugins", "box", "acme_parcels", **environ)
    assert done.returncode == 0, done.stderr
    assert "left out while it is in the box: after_tool_call" in done.stdout
    assert "not_found" in call("parcel_read", path=str(key))
    assert "private" not in call("acme_parcels__parcel_read", path=str(key))
    assert str(with_uv.home / "boxes" / "acme_parcels") in call("acme_parcels__parcel_home")
    (line,) = [each for each in with_uv.oneclaw("plugins", "list").stdout.splitlines() if "acme-parcels" in each]
    assert "in a box" in line

    done = with_uv.oneclaw("plugins", "unbox", "--yes", "acme_parcels", **environ)
    assert done.returncode == 0, done.stderr
    assert "private" in call("parcel_read", path=str(key))
    assert not (with_uv.home / "boxes" / "acme_parcels").exists()
