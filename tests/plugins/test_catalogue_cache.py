"""The catalogue cache: used as long as nothing has changed, never trusted, and never needed."""

import json
import os
import subprocess
import sys

import pytest
from how_long import some
from plugin_entries import PARTS_FILE, entry_file, entry_text, own_plugins, parts_text
from site_plugins import GOOD, install, ours

from oneclaw_core.plugins.catalogue import cache, discovery
from oneclaw_core.plugins.catalogue.entries import InstalledCatalogue, shipped_document
from oneclaw_core.plugins.loading.load_plugins import load_plugins
from oneclaw_core.plugins.registration.entry import PluginEntry
from oneclaw_core.system import private_files

pytestmark = pytest.mark.one_python


def load():
    (record,) = [each for each in load_plugins(ours()).plugins if each.name == "good"]
    return record


def cache_file(tmp_path):
    (path,) = (tmp_path / "cache" / "oneclaw").iterdir()
    return path


@pytest.mark.parametrize("plugin", list(own_plugins()), ids=lambda plugin: plugin.name)
def test_the_entry_in_a_package_is_current(plugin):
    written = entry_file(plugin).read_text(encoding="utf-8")

    assert written == entry_text(plugin), "write it with: uv run python release/plugin_entries.py"


def test_what_is_said_of_plugins_that_are_not_installed_is_current():
    written = PARTS_FILE.read_text(encoding="utf-8")

    assert written == parts_text(), "write it with: uv run python release/plugin_entries.py"


def test_a_described_plugin_is_not_described_again(site, children):
    install(site, "good", GOOD)

    assert load().tools == ["good_tool"]
    assert load().tools == ["good_tool"]

    assert len(children) == 1


def test_the_homes_of_a_program_share_what_was_read(site, children, tmp_path, monkeypatch):
    install(site, "good", GOOD)
    monkeypatch.setattr(private_files, "_UNSEEN_NANOSECONDS", 0)
    monkeypatch.setattr(discovery, "_SETTLING_NS", 0)
    for _ in range(3):  # it is written anew as long as Python caches the module
        load()
    monkeypatch.setattr(cache, "read_private", None)
    monkeypatch.setattr(PluginEntry, "from_dict", None)

    assert load().tools == ["good_tool"]


def damaged(path):
    path.write_bytes(path.read_bytes()[:-100])


def altered(path):
    path.write_bytes(path.read_bytes().replace(b"good_tool", b"evil_tool"))


def writable_by_others(path):
    path.chmod(0o666)


def a_link(path):
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def a_directory(path):
    path.unlink()
    path.mkdir()


def of_another_format(path):
    header, _, body = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(header), "format": 0}).encode() + b"\n" + body)


@pytest.mark.parametrize(
    "change",
    some([damaged, altered, writable_by_others, of_another_format, a_link, a_directory], 2),
    ids=lambda each: each.__name__,
)
def test_a_cache_that_cannot_be_trusted_is_not_used(change, site, children, tmp_path):
    install(site, "good", GOOD)
    load()
    change(cache_file(tmp_path))

    assert load().tools == ["good_tool"]

    assert len(children) == 2


def test_without_a_place_for_the_cache_everything_works(site, children, tmp_path):
    (tmp_path / "cache").write_text("a file, not a directory")
    install(site, "good", GOOD)

    assert [load().tools, load().tools] == [["good_tool"], ["good_tool"]]


def test_the_cache_belongs_to_its_user_alone(site, children, tmp_path):
    load_plugins(ours())

    path = cache_file(tmp_path)

    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_changed_module_is_described_again(site, children):
    install(site, "good", GOOD)
    load()
    (site / "good_plugin.py").write_text(GOOD.replace("good_tool", "other_tool"))

    assert load().tools == ["other_tool"]


def test_an_installed_or_removed_package_is_noticed(site, children):
    before = {record.name for record in load_plugins(ours()).plugins}
    install(site, "good", GOOD)
    between = {record.name for record in load_plugins(ours()).plugins}
    for path in (site / "good_plugin-1.2.dist-info").iterdir():
        path.unlink()
    (site / "good_plugin-1.2.dist-info").rmdir()
    after = {record.name for record in load_plugins(ours()).plugins}

    assert (between - before, after) == ({"good"}, before)


def test_what_fails_for_want_of_another_package_is_tried_again_when_one_is_installed(site, children):
    install(site, "good", f"import hostile_plugin\n{GOOD}")
    assert load().status == "failed"
    install(site, "hostile", "")

    assert load().status == "ok"


def test_an_entry_in_the_package_is_used_as_long_as_it_is_of_this_version(site, children):
    install(site, "good", GOOD)
    load()
    entry = InstalledCatalogue().entries(each for each in InstalledCatalogue().plugins() if each.name == "good")
    (document,) = [shipped_document(each, "good-plugin", "1.2", site) for each in entry.values()]
    package = site / "shipped_plugin"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it is not imported')")
    info = site / "shipped_plugin-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shipped-plugin\nVersion: 1.2\n")
    (info / "RECORD").write_text("shipped_plugin/__init__.py,,\n")
    (info / "entry_points.txt").write_text("[oneclaw]\nshipped = shipped_plugin\n")
    document |= {"package": "shipped-plugin", "entry": {**document["entry"], "tools": []}}
    (package / "shipped.entry.json").write_text(json.dumps(document))
    before = len(children)

    status = {each.name: each.status for each in load_plugins(ours() - {"shipped"}).plugins}["shipped"]

    assert (status, len(children)) == ("ok", before)
    (package / "shipped.entry.json").write_text(json.dumps({**document, "version": "1.1"}))
    (info / "RECORD").write_text("shipped_plugin/__init__.py,,\nanother,,\n")
    records = {each.name: each for each in load_plugins(ours() - {"shipped"}).plugins}
    assert records["shipped"].status == "failed"
    assert len(children) == before + 1


def test_a_start_with_a_cache_imports_neither_plugins_nor_the_scanner(site, tmp_path):
    install(site, "good", GOOD)
    program = (
        "import sys; from oneclaw_core.plugins.loading.load_plugins import load_plugins; "
        "assert load_plugins().registry.get_tool('good_tool'); "
        "print(sorted({'good_plugin', 'importlib_metadata', 'pluggy', 'pydantic', 'jsonschema', 'asyncio'} "
        "& sys.modules.keys()))"
    )
    environ = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", program]

    subprocess.run(command, env=environ, check=True, capture_output=True)
    second = subprocess.run(command, env=environ, check=True, capture_output=True, text=True, cwd=tmp_path)

    assert second.stdout == "[]\n"
