"""The manifests of all tools: what they cost, that functions fit them, and what holds for every tool."""

import asyncio
import inspect
import json
import re
import warnings
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest
from google_arguments import least_arguments, wrong_arguments
from google_desk import make_home, open_home, stand_in
from how_long import some
from oneclaw_google_workspace import GROUPS, client, failures
from oneclaw_google_workspace.scopes import SERVICES, TOOL_SCOPES, service_of

MOST_TOKENS_OF_A_GROUP = 2_600
MOST_TOKENS_OF_ALL = 22_000


def manifest_of(group):
    """The entries of a manifest, each tool with the parameters that its metadata give to all."""
    path = files("oneclaw_google_workspace") / "manifests" / f"{group}.json"
    meta, *entries = json.loads(path.read_text(encoding="utf-8"))
    for entry in entries:
        entry["parameters"]["properties"] |= meta["parameters"]
    return [meta, *entries]


TOOLS = {entry["name"]: entry for group in GROUPS for entry in manifest_of(group) if "_meta" not in entry}
WRONG = {name: list(wrong_arguments(entry["parameters"])) for name, entry in TOOLS.items()}
# Of the eleventh group: what they need depends on the method that is called. test_google_api.py is about them.
OF_ANY_SERVICE = ("google_find_method", "google_call")
OF_ONE_SERVICE = [name for name in TOOLS if name not in OF_ANY_SERVICE]
WRITING = [
    name
    for name, entry in TOOLS.items()
    if name == "google_call" or not all(each.endswith(".read") for each in entry.get("required_permissions", ()))
]


# Groups

# By RFC-040; a model decides by them whether to load a group.
SAID = {
    "google_gmail": (
        "Google Gmail",
        "Email management: search, read, send, draft, label, archive, and manage Gmail messages",
    ),
    "google_gmail_settings": (
        "Google Gmail Settings",
        "Gmail settings: manage filters, labels, forwarding, signatures, and vacation responders",
    ),
    "google_drive": (
        "Google Drive",
        "File storage: list, search, upload, download, share, and manage Google Drive files and folders",
    ),
    "google_calendar": (
        "Google Calendar",
        "Calendar management: list, create, update, delete events, and manage Google Calendar",
    ),
    "google_contacts": (
        "Google Contacts",
        "Contact management: search, list, create, update, and delete Google Contacts",
    ),
    "google_docs": (
        "Google Docs",
        "Document editing: create, read, update, and format Google Docs documents",
    ),
    "google_sheets": (
        "Google Sheets",
        "Spreadsheet management: create, read, update cells, format, and manage Google Sheets",
    ),
    "google_slides": (
        "Google Slides",
        "Presentation management: create, update, add slides, and manage Google Slides presentations",
    ),
    "google_forms": (
        "Google Forms",
        "Form management: create forms, add questions, get responses, and manage Google Forms",
    ),
    "google_tasks": (
        "Google Tasks",
        "Task management: list, create, update, complete, and delete Google Tasks",
    ),
    "google_api": ("Google APIs", "Every other method of these services, and of Chat, Meet and Keep"),
}


def test_the_groups_are_called_and_described_as_agreed():
    said = {group: manifest_of(group)[0] for group in GROUPS}

    assert {group: (meta["display_name"], meta["description"]) for group, meta in said.items()} == SAID
    assert list(said) == list(SAID)


# Tokens


@pytest.fixture(scope="module")
def tokens_of():
    """How many tokens of the vocabulary o200k_base the tools of a group take."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its vocabulary in an old way
        from bpe_openai import get_encoding

        encoding = get_encoding("o200k_base")

    def count(group):
        sent = [
            {name: entry[name] for name in ("name", "description", "parameters")}
            for entry in manifest_of(group)
            if "_meta" not in entry
        ]
        texts = [json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in sent]
        return sum(len(encoding.encode(text)) for text in texts)

    return count


@pytest.mark.one_python
@pytest.mark.parametrize("group", some(GROUPS, 5))
def test_no_group_costs_a_model_more_than_it_may(tokens_of, group):
    assert 0 < tokens_of(group) <= MOST_TOKENS_OF_A_GROUP


@pytest.mark.one_python
def test_all_groups_together_cost_no_more_than_they_may(tokens_of):
    assert sum(map(tokens_of, GROUPS)) <= MOST_TOKENS_OF_ALL


# Descriptions


def undescribed(schema, path=""):
    for name, each in schema.get("properties", {}).items():
        yield from ([f"{path}{name}"] if not each.get("description") else [])
        while each.get("type") == "array":
            each = each["items"]
        yield from undescribed(each, f"{path}{name}.")


@pytest.mark.parametrize("group", GROUPS)
def test_every_parameter_is_described(group):
    tools = [entry for entry in manifest_of(group) if "_meta" not in entry]

    assert {entry["name"]: list(undescribed(entry["parameters"])) for entry in tools} == {
        entry["name"]: [] for entry in tools
    }


# Time


@pytest.mark.parametrize("name", WRITING)
def test_a_tool_that_writes_waits_longer_than_its_requests(name):
    most_of_one = client.ALONE_SECONDS + client.CONNECT_SECONDS + client.SILENCE_SECONDS + failures.MAX_WAIT_SECONDS

    assert TOOLS[name]["timeout_seconds"] > most_of_one + client.MARGIN_SECONDS


# Functions and manifests


@pytest.mark.parametrize("name", TOOLS)
def test_the_function_takes_what_the_manifest_says(name):
    module, _, attribute = TOOLS[name]["function"].partition(":")
    schema = TOOLS[name]["parameters"]

    parameters = inspect.signature(getattr(import_module(module), attribute)).parameters.values()

    taken = {each.name: each.default for each in parameters if each.name != "context"}
    assert set(taken) == set(schema["properties"])
    assert {each for each, default in taken.items() if default is inspect.Parameter.empty} <= set(
        schema.get("required", ())
    )
    for each, described in schema["properties"].items():
        if "default" in described:
            # In place of a list, a function has None or a tuple.
            value = described["default"]
            accepted = (None, tuple(value)) if isinstance(value, list) else (value,)
            assert taken[each] in accepted, each


@pytest.mark.parametrize("name", OF_ONE_SERVICE)
def test_a_tool_that_writes_asks_for_the_permission_of_its_service_and_no_other(name):
    entry = TOOLS[name]
    reads_only = all(scope.endswith("readonly") or scope.endswith("freebusy") for scope in TOOL_SCOPES[name])

    if name in WRITING:
        assert all(each.startswith(f"google.{service_of(name)}.") for each in entry["required_permissions"])
        assert entry["asks_itself"] is True
        assert not reads_only
    else:
        assert entry["required_permissions"] == [f"google.{service_of(name)}.read"]
        assert entry["asks_itself"] is True  # which it never does: it is refused where the user has denied it
        assert reads_only or name == "gmail_settings_get"  # for which there is no lesser scope


# What every tool answers


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    """What the tools answer in a home in which no one is signed in, by what they are called with, and who was asked."""
    results, asked = {}, []

    async def ask(request):
        asked.append(request)
        raise AssertionError("no one is to be asked")

    async def run(home):
        async with open_home(home, ask=ask) as claw:
            for name, entry in TOOLS.items():
                least = [("the least", least_arguments(entry["parameters"]))]
                for what, arguments in [*least, *some(WRONG[name], 4)]:
                    results[name, what] = (await claw.call_tool(name, arguments)).result

    with pytest.MonkeyPatch.context() as monkeypatch, stand_in(monkeypatch) as google:
        asyncio.run(run(make_home(tmp_path_factory.mktemp("strangers") / "home", monkeypatch)))
    assert (google.requests, asked) == ([], [])
    return results


@pytest.mark.parametrize("name", OF_ONE_SERVICE)
def test_without_a_sign_in_the_tool_says_what_to_run(strangers, name):
    result = strangers[name, "the least"]

    assert result.error_type == "not_available"
    service = service_of(name)
    # Google has nothing for reading the settings of Gmail only.
    less = "" if name in WRITING or service == "gmail_settings" else " --read-only"
    command = f"oneclaw google login --services {service}{less}"
    assert result.error_message == f"No Google account is signed in. The user can sign in with: {command}"


@pytest.mark.parametrize("name", TOOLS)
def test_wrong_arguments_are_refused_before_anything_is_done(strangers, name):
    wrong = {what: result for (tool, what), result in strangers.items() if tool == name and what != "the least"}

    assert len(WRONG[name]) > len(TOOLS[name]["parameters"]["properties"])
    assert list(wrong) == [what for what, _ in some(WRONG[name], 4)]
    assert {what: result.error_type for what, result in wrong.items()} == dict.fromkeys(wrong, "validation_error")


# Pages for people


PLUGIN = Path(__file__).parents[1]


def page(name):
    """A page's text; pages of the whole documentation are not where only the plugin is."""
    path = PLUGIN / name
    if name != "README.md" and not path.exists():
        pytest.skip("the documentation is not part of this copy")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "../../docs/google-workspace.md"])
def test_the_page_names_every_group_with_its_tools(name):
    rows = dict(re.findall(r"^\| `(google_\w+)` \| (.*?) \|", page(name), re.MULTILINE))

    assert {group: re.findall(r"`(\w+)`", tools) for group, tools in rows.items()} == {
        group: [entry["name"] for entry in manifest_of(group) if "_meta" not in entry] for group in GROUPS
    }


def test_the_page_names_the_scopes_of_every_service():
    text = page("../../docs/google-workspace.md")
    rows = re.findall(r"^\| `([a-z_]+)` \| (`[\w.]+`(?:, `[\w.]+`)*) \| (.*?) \|$", text, re.MULTILINE)

    found = {name: tuple(tuple(re.findall(r"`([\w.]+)`", each)) for each in scopes) for name, *scopes in rows}
    assert found == {name: (service.read, service.full) for name, service in SERVICES.items()}


def test_the_page_names_every_error():
    text = page("../../docs/google-workspace.md")
    sources = [path.read_text(encoding="utf-8") for path in Path(str(files("oneclaw_google_workspace"))).rglob("*.py")]
    error_types = {each for source in sources for each in re.findall(r'GoogleError\(\s*"(\w+)"', source)}

    assert len(error_types) > 5
    assert {each for each in error_types if f"`{each}`" not in text} == set()
