"""Permissions of the tools of a source, such as an MCP server: granted by tool, denied by server or all at once."""

import pytest

SERVERS = """
    from oneclaw_core import ToolDefinition, ToolResult, ToolSource, hookimpl

    class Remote:
        def __init__(self, name, permission):
            self.definition = ToolDefinition(name, "A tool of a server.", required_permissions=(permission,))

        async def execute(self, arguments, context):
            return ToolResult.success("done")

    class Servers(ToolSource):
        async def start(self, tools):
            tools.publish([
                Remote("github_search", "mcp.github.search"),
                Remote("github_create_issue", "mcp.github.create-Issue"),
                Remote("files_remove", "mcp.files.remove"),
            ])

        async def stop(self):
            pass

    def make(context):
        return Servers()

    @hookimpl
    def register_tools(register):
        register.source("servers", f"{__name__}:make")
"""
TOOLS = ("github_search", "github_create_issue", "files_remove")


@pytest.fixture
def allowed(oneclaw, install_plugin):
    """The tools that run without a question."""
    install_plugin("servers", SERVERS)

    def allowed():
        return [each for each in TOOLS if '"success"' in oneclaw("call", each).stdout]

    return allowed


@pytest.mark.long
def test_a_grant_is_for_one_tool_and_a_denial_for_a_server(allowed, oneclaw, ok):
    assert allowed() == []
    for permission in ("mcp.github.search", "mcp.github.create-Issue", "mcp.files.remove"):
        ok("permissions", "grant", permission)
    assert allowed() == list(TOOLS)

    ok("permissions", "deny", "mcp.github")
    assert allowed() == ["files_remove"]
    ok("permissions", "reset", "mcp.github")
    ok("permissions", "deny", "mcp")
    assert allowed() == []

    refused = oneclaw("permissions", "grant", "mcp.github")
    assert refused.status == 2
    assert "has parts, and each is granted by itself: mcp.github.search, mcp.github.create-Issue" in refused.stderr


@pytest.mark.long
def test_the_permissions_of_a_source_are_listed_with_their_tools(allowed, ok):
    allowed()
    ok("permissions", "grant", "mcp.github.search", "--agent", "General Assistant")
    listed = [each for each in ok("permissions", "list", "--json") if each["name"].startswith("mcp.")]
    assert [(each["name"], each["state"], each["tools"]) for each in listed] == [
        ("mcp.github.search", "asks", ["github_search"]),
        ("mcp.github.create-Issue", "asks", ["github_create_issue"]),
        ("mcp.files.remove", "asks", ["files_remove"]),
        ("mcp.github.search", "granted", ["github_search"]),
    ]


FAR = """
    from pathlib import Path

    from oneclaw_core import SourceTool, ToolDefinition, ToolGroupDefinition, ToolResult, ToolSource, hookimpl
    from oneclaw_core.plugins import GroupTools, SourceGroup

    class Far:
        definition = ToolDefinition("sail", "Sails far.", required_permissions=("far.sail",))

        async def execute(self, arguments, context):
            return ToolResult.success("done")

    def read():
        with Path("reads.txt").open("a") as file:
            file.write("read")
        return GroupTools((SourceTool(Far()),), {"far.sail": "sail far"})

    def listed(context, tools):
        tools.publish([], [SourceGroup(ToolGroupDefinition("far", "Far", "Goes far"), None, "", ("sail",), read)])

    class Boats(ToolSource):
        async def start(self, tools):
            listed(None, tools)

        async def stop(self):
            pass

    def make(context):
        return Boats()

    @hookimpl
    def register_tools(register):
        register.source("boats", f"{__name__}:make", starts="open", listing=f"{__name__}:listed")
"""


def test_a_conversation_reads_no_group_that_it_does_not_need(oneclaw, install_plugin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install_plugin("boats", FAR)
    reads = tmp_path / "reads.txt"

    assert oneclaw("run", "hello").status == 0
    assert not reads.exists()

    mistyped = oneclaw("run", "--allow", "far.sial", "hello")
    assert "did you mean far.sail?" in mistyped.stderr
    assert reads.read_text() == "read"
