"""`oneclaw plugins search` reads an index from a file; young, yanked and blocked releases are named."""

import json
from datetime import date, timedelta

import pytest
from installations import write_wheel

ENTRIES = [
    {"name": "acme-parcels", "version": "1.9", "summary": "Finds parcels", "grade": "bronze"},
    {
        "name": "acme-parcels",
        "version": "1.10",
        "summary": "Finds parcels",
        "grade": "silver",
        "core": ">=0.2",
        "capabilities": ["permission network.public"],
        "tokens": {"core": 0, "groups": 120},
    },
    {"name": "acme-parcels", "version": "2.0", "core": ">=99", "summary": "Finds parcels"},
    {"name": "acme-parcels", "version": "3.0", "summary": "Finds parcels", "yanked": "broken"},
    {"name": "acme-shelf", "version": "1.0", "summary": "Sorts books"},
    {"name": "acme-evil", "version": "1.0", "summary": "Finds parcels", "blocked": "steals keys"},
]


@pytest.fixture
def index_file(tmp_path):
    path = tmp_path / "plugins.json"
    path.write_text(json.dumps({"format": 1, "plugins": ENTRIES}))
    return path


def test_the_newest_release_that_works_here_is_found(ok, index_file):
    found = ok("plugins", "search", "parcels", "--index", str(index_file), "--json")

    assert [(each["name"], each["version"], each["grade"]) for each in found] == [("acme-parcels", "1.10", "silver")]
    assert "0 + 120" in ok("plugins", "search", "NETWORK.public", "--index", str(index_file))


def test_the_setting_names_the_index(ok, index_file, monkeypatch):
    monkeypatch.setenv("ONECLAW_DEVTOOLS_INDEX", str(index_file))

    assert [each["name"] for each in ok("plugins", "search", "--json")] == ["acme-parcels", "acme-shelf"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no index: install the package oneclaw-plugin-index"),
        ("{", "is no index of plugins"),
        ('{"format": 2}', "has another format than 1"),
        ('{"format": 1, "plugins": [{"name": "x"}]}', "is no index of plugins: /plugins/0/version: "),
    ],
)
def test_what_is_no_index_is_named(oneclaw, tmp_path, content, said):
    options = []
    if content is not None:
        (tmp_path / "index.json").write_text(content)
        options = ["--index", str(tmp_path / "index.json")]

    outcome = oneclaw("plugins", "search", *options)

    assert outcome.status in (1, 2)
    assert said in outcome.stderr


@pytest.mark.long
@pytest.mark.one_python
def test_young_and_blocked_releases_are_named(with_uv, wheels, tmp_path):
    write_wheel(wheels, "acme-tools")
    yesterday = str(date.today() - timedelta(days=1))
    entry = {"name": "acme-tools", "version": "1.0", "sha256": "0" * 64, "released": yesterday}
    path = tmp_path / "index.json"
    environ = {"ONECLAW_DEVTOOLS_INDEX": str(path)}
    path.write_text(json.dumps({"format": 1, "plugins": [{**entry, "blocked": "steals keys"}]}))

    done = with_uv.oneclaw("plugins", "install", "--yes", "acme-tools", **environ)
    assert done.returncode == 1
    assert "acme-tools 1.0 is blocked by the index: steals keys" in done.stderr
    assert not list(with_uv.site().glob("acme_tools*"))

    path.write_text(json.dumps({"format": 1, "plugins": [entry]}))
    done = with_uv.oneclaw("plugins", "install", "--yes", "acme-tools", **environ)
    assert done.returncode == 0, done.stderr
    assert "YOUNG: released 1 days ago; the setting devtools.young_days is 3" in done.stderr
    assert "ANOTHER FILE: the index knows this release with sha256 000" in done.stderr


@pytest.mark.long
@pytest.mark.one_python
def test_an_upgrade_that_does_not_work_is_taken_back(with_uv, wheels):
    write_wheel(wheels, "acme-tools")
    assert with_uv.oneclaw("plugins", "install", "--yes", "acme-tools").returncode == 0
    write_wheel(wheels, "acme-tools", "2.0", source="import nothing_of_that_name\n")

    done = with_uv.oneclaw("plugins", "upgrade", "--yes", "acme-tools")

    assert done.returncode == 1
    assert "plugin acme_tools: acme-tools 2.0 does not work (ModuleNotFoundError" in done.stderr
    assert "nothing was upgraded" in done.stderr
    assert with_uv.recorded()[0]["version"] == "1.0"
    assert json.loads(with_uv.oneclaw("call", "acme_tools_tool", "{}").stdout)["result"] == "hello"
