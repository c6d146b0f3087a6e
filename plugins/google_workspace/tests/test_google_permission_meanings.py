"""Every permission that a tool asks for says what it allows, in the manifest of its own group."""

from importlib.resources import files

import pytest

from oneclaw_core.tools.manifest import load_manifest

MANIFESTS = sorted(
    (each for each in files("oneclaw_google_workspace").joinpath("manifests").iterdir() if each.name.endswith(".json")),
    key=lambda each: each.name,
)


def test_all_ten_manifests_are_there():
    assert len(MANIFESTS) == 10


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_group_explains_exactly_the_permissions_of_its_tools(path):
    manifest = load_manifest(path)
    needed = {each for tool in manifest.tools for each in tool.definition.required_permissions}
    assert manifest.problems == ()
    assert manifest.group.permissions.keys() == needed
    (service,) = {each.rpartition(".")[0] for each in needed}
    assert service == f"google.{manifest.group.name.removeprefix('google_')}"
