"""Origins of installed plugins, and the messages when their files have changed."""

import dataclasses
import json
import os
import sys
from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest

from oneclaw_core.errors import OneClawError
from oneclaw_core.installation.origins import OriginNews, PluginOrigins, normalised, package_of, report_origins
from oneclaw_core.plugins.plugin import Plugin as InstalledPlugin
from oneclaw_core.plugins.plugin import PluginProblem
from oneclaw_core.system.home import Home


def row(path, root):
    digest = urlsafe_b64encode(sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
    return f"{path.relative_to(root)},sha256={digest},{path.stat().st_size}"


class Package:
    """An installed package with a plugin."""

    def __init__(self, site, name="Acme_Tools", version="1.2"):
        self._site = site
        self.module = site / f"{name}.py"
        self.module.write_text("VALUE = 1\n")
        self.record = site / f"{name}-1.dist-info" / "RECORD"
        self.record.parent.mkdir()
        self.name, self.version = name, version
        self.more = []
        self.write()

    def write(self):
        rows = [row(self.module, self._site), *self.more]
        self.record.write_text("\n".join([*rows, ""]))
        os.utime(self.record, ns=(self.record.stat().st_mtime_ns + 10_000_000,) * 2)

    @property
    def plugin(self):
        return InstalledPlugin("acme", "acme", self.name, self.version, files=(str(self.record),))


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home", "")


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


def look(home, *packages, **options):
    return PluginOrigins(home).look([each.plugin for each in packages], **options)


CHANGED = "acme-tools 1.2 has changed files, but no new version"


def test_a_package_that_changes_is_told_until_it_is_accepted(home, package):
    assert look(home, package) == []
    assert look(home, package) == []
    package.module.write_text("VALUE = 2\n")
    package.write()
    news = [OriginNews("acme-tools", CHANGED)]
    assert look(home, package) == news == look(home, package)
    assert news[0].remedy == "if you expected that: oneclaw plugins accept acme-tools; else uninstall it"
    PluginOrigins(home).accept([package.plugin], {"other"})
    assert look(home, package) == news
    PluginOrigins(home).accept([package.plugin], {"acme-tools"})
    assert look(home, package) == []


def test_a_new_version_is_no_news(home, package):
    look(home, package)
    package.version = "1.3"
    package.module.write_text("VALUE = 2\n")
    package.write()
    assert look(home, package) == [] == look(home, package)
    package.module.write_text("VALUE = 3\n")
    package.write()
    assert [each.text for each in look(home, package)] == [CHANGED.replace("1.2", "1.3")]


def test_a_package_that_comes_later_is_new_and_the_others_are_looked_at(home, package, tmp_path):
    look(home, package)
    other, third = Package(tmp_path, "other", None), Package(tmp_path, "third")
    package.module.write_text("VALUE = 2\n")
    package.write()
    assert look(home, other, third, package) == [
        OriginNews("other", "other ? is new and was not installed by OneClaw", is_new=True),
        OriginNews("third", "third 1.2 is new and was not installed by OneClaw", is_new=True),
        OriginNews("acme-tools", CHANGED),
    ]


def test_what_installers_and_python_write_is_no_content(home, package):
    look(home, package)
    info = "Acme_Tools-1.dist-info"
    package.more = [
        *("../../bin/acme,sha256=x,1", "acme/x.pyc,sha256=x,1", f"{info}/RECORD,,", f"{info}/INSTALLER,sha256=x,1"),
        *(f"{info}/REQUESTED,sha256=x,1", f"{info}/direct_url.json,sha256=x,1", f"{info}/uv_cache.json,sha256=x,1"),
        *("only two,columns", "one,two,three,four"),
    ]
    package.write()
    assert look(home, package) == []
    for content in ("b.json", f"{info}/METADATA", "a/RECORD"):
        package.more = [f"{content},sha256=x,1"]
        package.write()
        assert [each.text for each in look(home, package)] == [CHANGED], content


def test_the_order_of_files_makes_no_difference(home, package):
    package.more = ["a,sha256=x,1", "b,sha256=y,1"]
    package.write()
    look(home, package)
    package.more.reverse()
    package.write()
    assert look(home, package) == []


def test_a_thorough_look_reads_the_files(home, package):
    package.more = ["nothing.txt,md5=x,1", "unhashed.txt,,"]
    package.write()
    look(home, package)
    assert look(home, package, is_thorough=True) == []
    package.module.write_text("VALUE = 2\n")
    assert look(home, package) == []
    text = "acme-tools 1.2: Acme_Tools.py is not as it was installed"
    assert look(home, package, is_thorough=True) == [OriginNews("acme-tools", text)]
    package.module.unlink()
    assert look(home, package, is_thorough=True) == [OriginNews("acme-tools", text)]
    package.version = None
    PluginOrigins(home).accept([package.plugin], {"acme-tools"})
    assert [each.text for each in look(home, package, is_thorough=True)] == [text.replace("1.2", "?")]


def test_code_that_is_changed_in_place_is_known_by_its_folder(home, tmp_path, package):
    def editable(folder):
        files = (str(package.record),)
        return InstalledPlugin("acme", "acme", "acme", "1", files=files, tree=str(folder))

    bare = InstalledPlugin("bare", "bare")
    assert PluginOrigins(home).look([editable(tmp_path / "one"), bare]) == []
    package.record.write_text("anything,sha256=x,1\n")
    assert PluginOrigins(home).look([editable(tmp_path / "one"), bare], is_thorough=True) == []
    (news,) = PluginOrigins(home).look([editable(tmp_path / "two"), bare])
    assert news.text == "acme 1 has changed files, but no new version"
    (known,) = json.loads((home.path / "plugin-origins.json").read_text())["environments"].values()
    assert {name: each["content"] for name, each in known.items()} == {
        "acme": f"folder {tmp_path / 'one'}",
        "bare": "folder ",
    }


def test_a_list_of_files_that_is_gone_is_a_change(home, package):
    look(home, package)
    package.record.unlink()
    assert [each.text for each in look(home, package)] == [CHANGED]


def test_of_two_plugins_of_a_package_one_is_looked_at(home, package):
    second = InstalledPlugin("second", "acme", "acme.tools", "9")
    assert PluginOrigins(home).look([package.plugin, second]) == []
    assert look(home, package) == []


def test_each_environment_has_its_own_record(home, package, monkeypatch):
    look(home, package)
    monkeypatch.setattr(sys, "prefix", "/elsewhere")
    assert look(home) == []
    document = json.loads((home.path / "plugin-origins.json").read_text())
    assert (document["format"], len(document["environments"])) == (1, 2)
    PluginOrigins(home).accept([package.plugin], {"acme-tools"})
    assert [
        list(each) for each in json.loads((home.path / "plugin-origins.json").read_text())["environments"].values()
    ] == [["acme-tools"]] * 2


def test_a_record_that_cannot_be_used_is_taken_down_again(home, package, caplog):
    path = home.path / "plugin-origins.json"
    for content, is_told in (
        ("{", True),
        ("[]", True),
        ('{"format": 1}', True),
        ('{"format": 0, "environments": {}}', False),
        ('{"format": 1, "environments": []}', False),
    ):
        path.write_text(content)
        path.chmod(0o600)
        caplog.clear()
        assert look(home, package) == []
        told = [each.getMessage() for each in caplog.records]
        assert bool(told) is is_told, content
        assert all(
            each.startswith("what is known of installed plugins is lost, and taken down again: ") for each in told
        )
        assert json.loads(path.read_text())["format"] == 1
    assert path.read_bytes().endswith(b"}\n")


def test_a_home_that_is_not_there_is_not_made(tmp_path, package):
    home = Home(tmp_path / "nowhere", "")
    assert look(home, package) == []
    assert not home.path.exists()


def test_a_record_that_cannot_be_written_matters_to_the_one_who_accepts(home, package, monkeypatch):
    def refuse(path, content):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("oneclaw_core.installation.origins.write_private", refuse)
    assert look(home, package) == []
    with pytest.raises(OneClawError) as error:
        PluginOrigins(home).accept([package.plugin], {"acme-tools"})
    path = home.path / "plugin-origins.json"
    assert str(error.value) == f"{path} cannot be written: Read-only file system"


def test_news_are_reported_to_the_plugins_of_the_package(home, package):
    look(home, package)
    package.module.write_text("VALUE = 2\n")
    package.write()

    def record(name, **options):
        return dataclasses.replace(package.plugin, name=name, problems=[], **options)

    other = InstalledPlugin("other", "other", "other", "1")
    records = [
        record("given", given=object),
        record("disabled", is_disabled=True),
        record("acme"),
        record("second"),
        other,
    ]
    found = report_origins(home, records)
    assert [(each.package, each.is_new) for each in found] == [("acme-tools", False), ("other", True)]
    problem = PluginProblem("origin", CHANGED, found[0].remedy, False)
    new = PluginProblem("origin", found[1].text, found[1].remedy, False)
    assert [each.problems for each in records] == [[], [], [problem], [problem], [new]]
    package.module.write_text("VALUE = 3\n")
    PluginOrigins(home).accept([package.plugin, other], {"acme-tools", "other"})
    assert report_origins(home, records) == []
    assert [each.package for each in report_origins(home, records, is_thorough=True)] == ["acme-tools"]


def test_the_name_of_a_package_is_normalised():
    assert [normalised(each) for each in ("A_b--C.d", "plain")] == ["a-b-c-d", "plain"]
    assert package_of(InstalledPlugin("My_Plugin", "x")) == "my-plugin"
