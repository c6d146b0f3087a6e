"""Every permission that a tool asks for says what it allows, in the manifest of its own group."""

import asyncio
from importlib.resources import files

import pytest
from google_desk import open_home

from oneclaw_core.manifests.manifest import load_manifest
from oneclaw_core.permissions import Decision, Grant

MANIFESTS = sorted(
    (each for each in files("oneclaw_google_workspace").joinpath("manifests").iterdir() if each.name.endswith(".json")),
    key=lambda each: each.name,
)
OF_ONE_SERVICE = [path for path in MANIFESTS if path.name != "google_api.json"]


def test_all_manifests_are_there():
    assert len(MANIFESTS) == 11


@pytest.mark.parametrize("path", OF_ONE_SERVICE, ids=lambda path: path.name)
def test_a_group_explains_exactly_the_permissions_of_its_tools(path):
    manifest = load_manifest(path)
    needed = {each for tool in manifest.tools for each in tool.definition.required_permissions}
    assert manifest.problems == ()
    assert manifest.group.permissions.keys() == needed
    (service,) = {each.rpartition(".")[0] for each in needed}
    assert service == f"google.{manifest.group.name.removeprefix('google_')}"


def test_reading_can_be_denied_and_a_grant_is_for_its_recipients_alone(google, home, desk, tmp_path):
    mail = {"subject": "Hi", "body": "Hello"}

    async def work():
        async with open_home(home, start_directory=tmp_path) as claw:
            await claw.store.set_grant(Grant("google.gmail.send", "*@example.net"))
            await claw.store.set_grant(Grant("google.drive", decision=Decision.DENY))
            outcomes = [
                await claw.call_tool("gmail_send", {"to": to, **mail})
                for to in (["bo@example.net"], ["bo@example.net", "eve@example.org"])
            ]
            outcomes += [await claw.call_tool(tool, {}) for tool in ("drive_list_files", "tasks_list")]
            return [outcome.result.error_type for outcome in outcomes]

    assert asyncio.run(work()) == [None, "permission_denied", "permission_denied", None]
