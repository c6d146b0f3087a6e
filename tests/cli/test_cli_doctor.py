"""`oneclaw doctor`: whatever is broken, the rest is still checked."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from needed_programs import is_here

from oneclaw_core.sessions.backend import SCHEMA_VERSION

VERSION_1 = (Path(__file__).parents[1] / "sessions" / "version_1.sql").read_text(encoding="utf-8")


@pytest.fixture
def examined(oneclaw):
    """Run the doctor; gives the exit status and the findings by what was checked."""

    def run():
        outcome = oneclaw("doctor", "--json")
        assert outcome.json["status"] in ("ok", "warning", "problem")
        assert all(each["status"] == "ok" or each["remedy"] for each in outcome.json["checks"])
        return outcome.status, {each["check"]: each for each in outcome.json["checks"]}

    return run


ALL_CHECKS = {"python", "oneclaw", "home", "database", "settings", "model", "plugin builtin", "tools", "log"}


def test_a_new_home_is_well_and_stays_untouched(examined, oneclaw, home):
    status, findings = examined()

    assert status == 0
    assert findings.keys() >= ALL_CHECKS
    # A machine may lack bubblewrap, which it rightly warns of.
    warnings = {name for name, finding in findings.items() if finding["status"] != "ok"}
    assert warnings == (set() if is_here("bubblewrap") else {"sandbox"})
    assert "imported in" in findings["plugin builtin"]["message"]
    assert not home.exists()
    assert f"0 problems, {len(warnings)} warning" in oneclaw("doctor").stdout


def test_a_home_in_use_is_well(examined, ok):
    ok("config", "set", "turn_max_tool_rounds", "7")

    status, findings = examined()

    assert status == 0
    assert f"schema {SCHEMA_VERSION}" in findings["database"]["message"]


def test_a_home_that_others_can_read_is_a_warning(examined, home):
    home.mkdir()
    home.chmod(0o755)

    status, findings = examined()

    assert status == 0
    assert findings["home"]["status"] == "warning"
    assert findings["home"]["remedy"] == f"chmod 700 {home}"


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/home"])
def test_a_home_that_cannot_be_made(examined, monkeypatch, place):
    monkeypatch.setenv("ONECLAW_HOME", place)

    status, findings = examined()

    assert status == 1
    assert f"{place} cannot be made" in findings["home"]["message"]
    assert "ONECLAW_HOME" in findings["home"]["remedy"]
    assert findings["tools"]["status"] == "ok"


def test_a_home_that_is_a_file(examined, home):
    home.write_text("")

    status, findings = examined()

    assert status == 1
    assert findings["home"]["status"] == "problem"
    assert findings["database"]["status"] == "problem"
    assert findings["tools"]["status"] == "ok"


def damage_header(path):
    path.write_bytes(b"no database at all, and long enough to be one" * 100)


def damage_page(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        (page_size,) = database.execute("PRAGMA page_size").fetchone()
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages_by_session'").fetchone()
    database.close()
    content = bytearray(path.read_bytes())
    content[(root - 1) * page_size : root * page_size] = b"\xff" * page_size
    path.write_bytes(content)


def make_newer(path):
    with sqlite3.connect(path) as database:
        database.execute("UPDATE schema_version SET version = 999")
    database.close()


def make_foreign(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE recipes (name TEXT)")
    database.close()


@pytest.mark.parametrize(
    ("harm", "message", "remedy"),
    [
        (damage_header, "damaged or not a database", "move it away"),
        (damage_page, "is damaged", "put a backup copy in its place"),
        (make_newer, "newer OneClaw", "upgrade oneclaw-core"),
        (make_foreign, "another program", "choose another file"),
    ],
)
def test_a_database_that_cannot_be_used(examined, ok, home, harm, message, remedy):
    ok("config", "set", "turn_max_tool_rounds", "7")
    for leftover in ("oneclaw.db-wal", "oneclaw.db-shm"):
        (home / leftover).unlink(missing_ok=True)
    harm(home / "oneclaw.db")
    before = (home / "oneclaw.db").read_bytes()

    status, findings = examined()

    assert status == 1
    assert findings["database"]["status"] == "problem"
    assert message in findings["database"]["message"]
    assert remedy in findings["database"]["remedy"]
    assert findings.keys() >= ALL_CHECKS
    assert findings["tools"]["status"] == "ok"
    assert (home / "oneclaw.db").read_bytes() == before


def test_a_database_url_that_is_none(examined, monkeypatch):
    monkeypatch.setenv("ONECLAW_DATABASE_URL", "mongodb://user:secret-password@host/x")

    status, findings = examined()

    assert status == 1
    assert findings["database"]["status"] == "problem"
    assert "secret-password" not in str(findings)
    assert findings["tools"]["status"] == "ok"


@pytest.mark.long
def test_a_setting_that_is_no_json(examined, oneclaw, ok, home):
    ok("config", "set", "turn_max_tool_rounds", "7")
    with sqlite3.connect(home / "oneclaw.db") as database:
        database.execute("UPDATE settings SET value = '{half'")
    database.close()

    status, findings = examined()
    assert status == 1
    assert findings["settings"]["status"] == "problem"

    assert oneclaw("config", "unset", "turn_max_tool_rounds").status == 0
    assert examined()[0] == 0


def test_a_variable_that_does_not_fit(examined, monkeypatch):
    monkeypatch.setenv("ONECLAW_TURN_DEADLINE_SECONDS", "soon")

    status, findings = examined()

    assert status == 1
    assert "ONECLAW_TURN_DEADLINE_SECONDS" in findings["settings"]["remedy"]


def test_a_default_model_of_no_provider(examined, monkeypatch):
    monkeypatch.setenv("ONECLAW_MODEL", "nobody/x")

    status, findings = examined()

    assert status == 1
    assert "ONECLAW_MODEL" in findings["model"]["remedy"]


def test_a_default_model_of_a_vendor_without_a_key(examined, ok, monkeypatch):
    ok("config", "set", "model", "openai_compatible/gpt-x")
    status, findings = examined()
    assert status == 1
    assert (
        "environment variable OPENAI_API_KEY or with: oneclaw keys set openai_compatible" in findings["model"]["remedy"]
    )

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    status, findings = examined()
    assert status == 0
    assert findings["model"]["message"] == "openai_compatible/gpt-x (stored), its key is set"
    assert "sk-secret-of-mine" not in str(findings)


@pytest.mark.long
def test_a_default_model_of_a_server_of_ones_own_needs_no_key(examined, ok):
    ok("config", "set", "model", "ollama/x")

    status, findings = examined()

    assert (status, findings["model"]["status"]) == (0, "ok")


def test_a_default_model_whose_provider_type_no_plugin_brings(examined, ok, home):
    ok("providers", "add", "lab", "--type", "offline")
    ok("config", "set", "model", "lab/x")
    with sqlite3.connect(home / "oneclaw.db") as database:
        database.execute("UPDATE settings SET value = '{\"type\": \"telepathy\"}' WHERE key = 'provider:lab'")
    database.close()

    status, findings = examined()

    assert status == 1
    assert "no plugin brings the provider type 'telepathy'" in findings["model"]["message"]


def test_a_check_that_breaks_is_a_finding(examined, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("no plugins\ntoday")

    monkeypatch.setattr("oneclaw_core.cli.catalog.load_plugins", broken)

    status, findings = examined()

    assert status == 1
    assert findings["plugins"]["message"] == "this could not be checked: RuntimeError: no plugins today"
    assert findings["database"]["status"] == "ok"


def test_the_plain_text_says_what_to_do(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_MODEL", "nobody/x")

    outcome = oneclaw("doctor")

    assert outcome.status == 1
    assert "what to do: change or unset the environment variable ONECLAW_MODEL" in outcome.stdout
    assert "1 problem, " in outcome.stdout


FIXABLE = """
    from oneclaw_core import CheckResult, Health, OneClawError, hookimpl
    from oneclaw_core.plugins import CheckFix

    def fix(context):
        (context.folder / "fixed").touch()

    def fail(context):
        raise OneClawError("the disk is gone: plug it in")

    def look(context):
        if not (context.folder / "fixed").exists():
            yield CheckResult(Health.PROBLEM, "torn", "sew it", CheckFix("sew the seam", fix))
        yield CheckResult(Health.WARNING, "no disk", "buy one", CheckFix("look for a disk", fail))

    @hookimpl
    def register_checks(register):
        register("seam", look)
"""


def test_fixes_of_the_core_and_of_plugins_are_applied_and_checked_again(oneclaw, ok, home, install_plugin, examined):
    install_plugin("sewing", FIXABLE)
    ok("config", "set", "turn_max_tool_rounds", "7")
    with sqlite3.connect(home / "oneclaw.db") as database:
        database.execute("UPDATE settings SET value = '-1' WHERE key = 'turn_max_tool_rounds'")
    home.chmod(0o755)
    _, before = examined()
    assert before["home"]["fix"] == f"set the mode of {home} to 700, so that you alone can use it"

    outcome = oneclaw("doctor", "--fix", "--yes")

    assert outcome.status == 0
    assert "plugin sewing: sew the seam\ndone" in outcome.stdout
    assert "that failed: the disk is gone: plug it in" in outcome.stderr
    assert home.stat().st_mode & 0o777 == 0o700
    assert ok("config", "get", "turn_max_tool_rounds") == "200\n"
    assert "torn" not in outcome.stdout.partition("checked again:")[2]


def test_an_older_database_is_named_and_not_migrated(oneclaw, ok, home, install_plugin, examined):
    install_plugin("sewing", FIXABLE)
    home.mkdir(mode=0o700)
    with closing(sqlite3.connect(home / "oneclaw.db")) as database:
        database.executescript(VERSION_1)
    (home / "oneclaw.db").chmod(0o600)
    before = (home / "oneclaw.db").read_bytes()

    _, findings = examined()

    assert (findings["database"]["status"], findings["database"]["remedy"]) == ("warning", "oneclaw db migrate")
    assert findings["database"]["message"].endswith(f"this version of OneClaw needs schema {SCHEMA_VERSION}")
    assert "the checks of plugins are left out until it is migrated" in findings["database"]["message"]
    assert "plugins" not in findings
    for reading in (["prompt"], ["permissions", "log"]):
        assert "to migrate it: oneclaw db migrate" in oneclaw(*reading).stderr
    assert (home / "oneclaw.db").read_bytes() == before
    ok("db", "migrate")
    assert examined()[1]["database"]["status"] == "ok"


def test_fixes_are_not_applied_where_no_one_can_agree(oneclaw):
    outcome = oneclaw("doctor", "--fix")

    assert outcome.status == 2
    assert "add --yes" in outcome.stderr
    assert oneclaw("doctor", "--fix", "--json").status == 2
