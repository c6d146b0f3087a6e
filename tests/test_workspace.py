"""A plugin of the workspace takes part in everything only if it is named wherever plugins are named."""

import tomllib
from pathlib import Path

import pytest
from shipped_parts import PARTS_FILE, own_plugins, parts_text

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(folder.parent.name for folder in ROOT.glob("plugins/*/pyproject.toml"))
KITS = ("channels", "http_providers")  # what plugins share
PLUGINS = [name for name in FOLDERS if name not in ("pytest_oneclaw", *KITS)]

pytestmark = pytest.mark.skipif(not PLUGINS, reason="a source distribution of the core has no plugins beside it")


@pytest.fixture(scope="module")
def workspace() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_is_installed_by_uv_run(plugin, workspace):
    distribution = "oneclaw-" + plugin.replace("_", "-")

    assert distribution in workspace["dependency-groups"]["plugins"]
    assert workspace["tool"]["uv"]["sources"][distribution] == {"workspace": True}


def test_the_fixtures_are_no_plugin_and_a_distribution_by_themselves(workspace):
    project = tomllib.loads((ROOT / "plugins" / "pytest_oneclaw" / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["entry-points"] == {"pytest11": {"oneclaw": "pytest_oneclaw.plugin"}}
    assert "pytest11" not in workspace["project"]["entry-points"]


@pytest.mark.parametrize("kit", KITS)
def test_a_kit_is_no_plugin_and_a_distribution_by_itself(workspace, kit):
    project = tomllib.loads((ROOT / "plugins" / kit / "pyproject.toml").read_text(encoding="utf-8"))

    assert "entry-points" not in project["project"]
    assert workspace["tool"]["uv"]["sources"][f"oneclaw-{kit.replace('_', '-')}"] == {"workspace": True}
    assert (ROOT / "plugins" / kit / f"oneclaw_{kit}" / "py.typed").exists()


@pytest.mark.parametrize("plugin", FOLDERS)
def test_plugin_is_bound_by_the_import_contracts(plugin, workspace):
    package = plugin if plugin == "pytest_oneclaw" else f"oneclaw_{plugin}"
    contracts = workspace["tool"]["importlinter"]["contracts"]
    plugins, *below = next(contract["layers"] for contract in contracts if "oneclaw_core" in contract.get("layers", ()))

    assert package in workspace["tool"]["importlinter"]["root_packages"]
    if plugin in KITS:
        assert package in below[0].split(" | "), "plugins may import it, and it no plugin"
    else:
        assert [name.strip() for name in plugins.split("|")].count(package) == 1, "plugins share the uppermost layer"


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_has_what_every_distribution_needs(plugin):
    folder = ROOT / "plugins" / plugin
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["entry-points"]["oneclaw"]
    assert project["dependency-groups"]["test"]
    assert (folder / f"oneclaw_{plugin}" / "py.typed").exists()
    assert list((folder / "tests").glob("test_*.py"))


def test_what_is_said_of_plugins_that_are_not_installed_is_current():
    written = PARTS_FILE.read_text(encoding="utf-8")
    assert written == parts_text(), "write it with: uv run python release/shipped_parts.py"


def test_shipped_tools_declare_what_is_true_of_their_verbs():
    registered = [each for plugin in own_plugins() for each in plugin.registrations]
    tools = {each.name: each.definition.to_dict() for each in registered if each.definition is not None}
    reading = {name for name in tools if {"list", "get", "search", "info"} & set(name.split("_"))}
    writing = {name for name in tools if any(each.endswith(".write") for each in tools[name]["required_permissions"])}
    acting = {"exec", "js_eval", "http_request", "write_file", "save_memory", "create_agent", "gmail_send"}
    read_only = {name for name in tools if tools[name].get("read_only")}
    idempotent = {name for name in tools if tools[name].get("idempotent")}

    assert reading - read_only == set()
    assert writing & read_only == set()
    assert acting & (read_only | idempotent) == set()
    assert "gmail_archive" in idempotent
