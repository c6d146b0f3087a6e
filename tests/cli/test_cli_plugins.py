"""`oneclaw plugins`, and what a broken plugin does to the other commands: nothing."""

import asyncio
import re
from dataclasses import dataclass, field

import pytest
from databases import backend_of
from how_long import some

from oneclaw_core.sessions.store import Store
from oneclaw_core.system.home import find_home

GOOD = """
    from oneclaw_core import ToolDefinition, ToolResult, hookimpl

    class Good:
        definition = ToolDefinition("good_tool", "Does good.")

        async def execute(self, arguments, context):
            return ToolResult.success("good")

    @hookimpl
    def register_tools(register):
        register(Good(), group="good")
"""


@dataclass(frozen=True)
class Broken:
    """A broken plugin, and what is to be said about it."""

    source: str
    where: str
    cause: str
    status: str = "failed"
    is_error: bool = True
    files: dict = field(default_factory=dict)


BROKEN = {
    "import_error": Broken("import a_module_that_is_nowhere", "import", "No module named 'a_module_that_is_nowhere'"),
    "syntax_error": Broken("def broken(:", "import", "SyntaxError"),
    "exits_at_import": Broken("import sys; sys.exit('no licence')", "import", "SystemExit: no licence"),
    "raises_in_hook": Broken(
        """
        from oneclaw_core import hookimpl

        @hookimpl
        def register_tools(register):
            raise RuntimeError("first line\\nsecond line")
        """,
        "register_tools",
        "RuntimeError: first line second line",
    ),
    "exits_in_hook": Broken(
        """
        from oneclaw_core import hookimpl

        @hookimpl
        def register_groups(register):
            raise SystemExit(3)
        """,
        "register_groups",
        "SystemExit: 3",
    ),
    "unknown_argument": Broken(
        """
        from oneclaw_core import hookimpl

        @hookimpl
        def register_tools(register, no_such_argument):
            pass
        """,
        "hooks",
        "no_such_argument",
    ),
    "unknown_hook": Broken(
        """
        from oneclaw_core import hookimpl

        @hookimpl
        def register_tolls(register):
            pass
        """,
        "hooks",
        "register_tolls",
        status="ok",
        is_error=False,
    ),
    "no_hooks": Broken("answer = 42", "hooks", "implements no hook", status="ok", is_error=False),
    "bad_manifest": Broken(
        """
        from pathlib import Path
        from oneclaw_core import hookimpl

        @hookimpl
        def register_tools(register):
            register.manifest(Path(__file__).parent / "tools.json")
        """,
        "manifest",
        "tools.json",
        files={"tools.json": '[{"name": "half a manif'},
    ),
    "missing_manifest": Broken(
        """
        from pathlib import Path
        from oneclaw_core import hookimpl

        @hookimpl
        def register_tools(register):
            register.manifest(Path(__file__).parent / "nowhere.json")
        """,
        "manifest",
        "nowhere.json",
    ),
    "colliding_tool": Broken(
        """
        from oneclaw_core import ToolDefinition, ToolResult, hookimpl

        def make(name):
            class Made:
                definition = ToolDefinition(name, "Reads other files.")

                async def execute(self, arguments, context):
                    return ToolResult.success("")
            return Made()

        @hookimpl
        def register_tools(register):
            register(make("read_file"))
            register(make("another_tool"))
        """,
        "register_tools",
        "the tool 'read_file' belongs to oneclaw-core, a distribution of OneClaw",
        status="degraded",
    ),
    "no_tool": Broken(
        """
        from oneclaw_core import hookimpl

        @hookimpl
        def register_tools(register):
            register("look at me")
        """,
        "register_tools",
        "'look at me' is not a tool",
    ),
}


def by_name(documents):
    return {each["name"]: each for each in documents}


@pytest.fixture
def good(install_plugin):
    install_plugin("good", GOOD)


@pytest.mark.long
def test_a_plugin_is_listed_with_what_it_brings(ok, good):
    plugins = ok("plugins", "list", "--json")

    assert plugins[0]["name"] == "builtin"
    listed = by_name(plugins)
    providers = {name: listed[name]["providers"] for name in ("builtin", "offline", "openai", "anthropic", "gemini")}
    assert providers == {
        "builtin": [],
        "offline": ["offline"],
        "openai": ["openai", "openai_compatible", "ollama"],
        "anthropic": ["anthropic"],
        "gemini": ["gemini"],
    }
    listed = listed["good"]
    assert listed.pop("import_ms") >= 0
    assert listed == {
        "name": "good",
        "package": "oneclaw-good",
        "version": "1.2",
        "status": "ok",
        "tools": ["good_tool"],
        "groups": [],
        "providers": [],
        "skills": [],
        "problems": [],
        "tokens": {"core": 0, "groups": 24},
        "reviewed": False,
        "in_box": False,
    }


@pytest.mark.long
@pytest.mark.parametrize("name", some(list(BROKEN), 3))
def test_a_broken_plugin_is_reported_with_cause_and_remedy(oneclaw, good, install_plugin, name):
    broken = BROKEN[name]
    install_plugin(name, broken.source, files=broken.files)

    outcome = oneclaw("plugins", "list", "--json")

    assert outcome.status == 0
    plugin = by_name(outcome.json)[name]
    assert (plugin["package"], plugin["version"], plugin["status"]) == (f"oneclaw-{name}", "1.2", broken.status)
    (problem,) = plugin["problems"]
    assert (problem["where"], problem["is_error"]) == (broken.where, broken.is_error)
    assert broken.cause in problem["cause"]
    assert "\n" not in problem["cause"]
    assert problem["remedy"]

    table = oneclaw("plugins", "list").stdout
    assert broken.cause in table
    assert problem["remedy"] in table

    doctor = oneclaw("doctor", "--json")
    (finding,) = [each for each in doctor.json["checks"] if each["check"] == f"plugin {name}"]
    assert finding["status"] == ("problem" if broken.is_error else "warning")
    assert broken.cause in finding["message"]
    assert finding["remedy"] == problem["remedy"]
    assert doctor.status == (1 if broken.is_error else 0)


@pytest.mark.long
def test_with_all_of_them_installed_everything_else_works(oneclaw, good, install_plugin):
    for name, broken in BROKEN.items():
        install_plugin(name, broken.source, files=broken.files)

    tools = by_name(oneclaw("tools", "list", "--json").json)
    assert tools["read_file"]["plugin"] == "builtin"
    assert tools["good_tool"]["plugin"] == "good"
    assert tools["another_tool"]["plugin"] == "colliding_tool"
    assert "good" in by_name(oneclaw("groups", "list", "--json").json)

    plugins = by_name(oneclaw("plugins", "list", "--json").json)
    assert plugins.keys() >= {"builtin", "good", *BROKEN}
    assert plugins["good"]["status"] == "ok"

    assert oneclaw("call", "good_tool").json["result"] == "good"
    assert oneclaw("run", "What time is it?").status == 0
    for arguments in (("permissions", "list"), ("config", "list"), ("tools", "disable", "good_tool"), ("--help",)):
        assert oneclaw(*arguments).status == 0, arguments


@pytest.mark.long
def test_what_a_plugin_prints_stays_out_of_the_document(oneclaw, install_plugin):
    install_plugin("chatty", 'print("Hello from chatty")\n' + "import sys\nsys.stdout.write('[1, 2')\n")

    outcome = oneclaw("plugins", "list", "--json")

    problems = by_name(outcome.json)["chatty"]["problems"]
    assert "it printed 'Hello from chatty" in " ".join(each["cause"] for each in problems)


@pytest.mark.long
def test_escape_sequences_in_an_error_are_not_sent_to_a_terminal(oneclaw, install_plugin):
    install_plugin("rude", r"raise RuntimeError('\x1b]0;gotcha\x07')")

    assert "\x1b" not in oneclaw("plugins", "list").stderr
    assert "\x1b" not in oneclaw("plugins", "list", "--json").stdout


@pytest.mark.long
def test_a_second_package_with_a_plugin_of_the_same_name_is_reported(oneclaw, good, install_plugin):
    install_plugin("zz_other", "", entry_points="[oneclaw]\ngood = oneclaw_zz_other\n")

    same = [each for each in oneclaw("plugins", "list", "--json").json if each["name"].startswith("good")]

    assert len(same) == 2
    assert [each["status"] for each in same] == ["ok", "degraded"]
    assert same[1]["name"] == "good@oneclaw-zz_other"
    assert "the plugin 'good' belongs to oneclaw-good, which had it first" in str(same)


def test_a_package_without_metadata_is_listed_all_the_same(oneclaw, install_plugin):
    install_plugin("bare", GOOD, metadata="")

    outcome = oneclaw("plugins", "list", "--json")

    assert outcome.status == 0
    assert by_name(outcome.json)["bare"]["tools"] == ["good_tool"]


@pytest.mark.parametrize(
    "entry_points",
    some(
        [
            "[oneclaw]\nodd = \n",
            "[oneclaw]\nodd\n",
            "[oneclaw]\nodd = not a module!\n",
            "[oneclaw\nodd = x\n",
            "\x00\x01",
        ],
        4,
    ),
)
def test_a_malformed_entry_point_harms_no_other(oneclaw, good, install_plugin, entry_points):
    install_plugin("odd", "", entry_points=entry_points)

    outcome = oneclaw("plugins", "list", "--json")

    assert outcome.status == 0
    assert by_name(outcome.json)["good"]["status"] == "ok"


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_a_disabled_plugin_is_listed_and_not_imported(oneclaw, ok, install_plugin, tmp_path):
    marker = tmp_path / "imported"
    install_plugin("sleeper", f"open({str(marker)!r}, 'w').close()\n")
    marker.unlink(missing_ok=True)

    assert ok("plugins", "disable", "sleeper") == "plugin sleeper is disabled\n"

    listed = by_name(ok("plugins", "list", "--json"))["sleeper"]
    assert (listed["status"], listed["import_ms"], listed["package"]) == ("disabled", None, "oneclaw-sleeper")
    assert not marker.exists()

    assert ok("plugins", "enable", "sleeper") == "plugin sleeper is enabled\n"
    assert by_name(oneclaw("plugins", "list", "--json").json)["sleeper"]["status"] == "ok"
    assert marker.exists()
    assert ok("plugins", "enable", "sleeper") == "plugin sleeper was not disabled\n"


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_a_broken_plugin_can_be_disabled(oneclaw, ok, install_plugin):
    install_plugin("import_error", BROKEN["import_error"].source)
    assert oneclaw("doctor").status == 1

    ok("plugins", "disable", "import_error")

    assert ok("tools", "list")
    assert oneclaw("doctor").status == 0


@pytest.mark.long
def test_the_environment_disables_plugins_too(oneclaw, ok, good, monkeypatch):
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "other, good")

    assert by_name(ok("plugins", "list", "--json"))["good"]["status"] == "disabled"
    assert "good_tool" not in by_name(ok("tools", "list", "--json"))
    assert "ONECLAW_DISABLED_PLUGINS is set" in oneclaw("plugins", "enable", "good").stderr


@pytest.mark.usefixtures("all_plugins")
def test_disabling_what_is_not_installed_warns(oneclaw, ok):
    outcome = oneclaw("plugins", "disable", "next_year")

    assert outcome.status == 0
    assert "no plugin named 'next_year' is installed" in outcome.stderr
    (finding,) = [each for each in ok("doctor", "--json")["checks"] if each["check"] == "plugins"]
    assert finding["status"] == "warning"


def test_a_misspelled_plugin_is_not_disabled_silently(oneclaw, good):
    disabled = oneclaw("plugins", "disable", "goood").stderr
    enabled = oneclaw("plugins", "enable", "goood").stderr

    assert "did you mean good? To undo this: oneclaw plugins enable goood" in disabled
    assert "no plugin named 'goood' is installed; did you mean good?" in enabled


@pytest.mark.parametrize("name", ["builtin", "", "a,b"])
def test_some_names_cannot_be_disabled(oneclaw, name):
    assert oneclaw("plugins", "disable", name).status == 2


@pytest.mark.usefixtures("all_plugins")
def test_a_plugin_in_a_box_is_listed_as_one(ok, good, home):
    ok("plugins", "disable", "good")
    (home / "boxes" / "good").mkdir(parents=True)

    listed = by_name(ok("plugins", "list", "--json"))
    assert {name for name, each in listed.items() if each["in_box"]} == {"good"}
    (line,) = [line for line in ok("plugins", "list").splitlines() if line.startswith("good")]
    assert "in a box" in line


@pytest.mark.long
def test_the_table_shows_how_long_each_import_took(ok, good):
    (line,) = [line for line in ok("plugins", "list").splitlines() if line.startswith("good")]

    assert re.fullmatch(r"good +oneclaw-good +1\.2 +ok, not reviewed +1 +0 \+ 24 +\d+\.\d ms", line)


def test_what_a_plugin_has_stored_is_forgotten(ok, oneclaw):
    def create(connection):
        connection.execute("CREATE TABLE acme__notes (id BIGINT)")

    async def fill():
        place = find_home()
        place.create()
        async with await Store.open(backend_of(place.database_url), lock_directory=place.locks) as store:
            storage = store.plugin_storage("acme")
            await storage.set("key", 1)
            await storage.tables([create])

    asyncio.run(fill())
    refused = oneclaw("plugins", "forget", "acme")
    assert refused.status == 2
    assert "add --yes" in refused.stderr
    assert ok("plugins", "forget", "acme", "--yes") == ("what plugin acme had stored is removed: 1 value, 1 table\n")
    gone = oneclaw("plugins", "forget", "acme", "--yes")
    assert gone.status == 2
    assert "plugin 'acme' has stored nothing in the database" in gone.stderr
