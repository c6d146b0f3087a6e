"""Plugins as the metadata of their packages tell, and which of them can be used here."""

import os
import subprocess
import sys
from types import SimpleNamespace

import importlib_metadata
import pytest

from oneclaw_core.errors import NotFoundError, PluginError
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.catalogue import compatibility, discovery
from oneclaw_core.plugins.catalogue.cache import CatalogueCache, user_cache
from oneclaw_core.plugins.catalogue.compatibility import Incompatibility, find_incompatibility
from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin, PackageMetadata
from oneclaw_core.plugins.catalogue.entries import InstalledCatalogue, read_shipped_entry, shipped_document
from oneclaw_core.plugins.isolation import ForeignError
from oneclaw_core.plugins.loading import load_plugins as loading
from oneclaw_core.plugins.loading.load_plugins import GivenPlugin, given_plugins, named_plugins, plugin_name
from oneclaw_core.plugins.loading.plugin_import import PluginImport
from oneclaw_core.plugins.registration.entry import PluginEntry, PluginProblem, Registration
from oneclaw_core.plugins.registration.record import PluginRecord

CORE = compatibility.CORE_VERSION


def problems_of(metadata, name="acme", **options):
    record = PluginRecord(name, metadata.name, metadata.version, **options)
    return loading._is_compatible(metadata, record), record.problems


def test_why_a_plugin_does_not_go_with_this_program_is_told():
    python = compatibility.python_version()
    for metadata, is_usable, problem in (
        (PackageMetadata("acme-tools", "3", is_compatible=True, fault="ignored"), True, None),
        (PackageMetadata("acme-tools", "3"), True, None),
        (
            PackageMetadata("acme-tools", "3", ("oneclaw-core>=99",)),
            False,
            (
                f"acme-tools 3 was made for oneclaw-core>=99, and this is {CORE}; it was not loaded",
                f"upgrade oneclaw-core, or install a version of acme-tools that goes with {CORE}",
                True,
            ),
        ),
        (
            PackageMetadata(None, None, ("oneclaw-core<0.0.1",)),
            False,
            (
                f"acme was made for oneclaw-core<0.0.1, and this is {CORE}; it was not loaded",
                "upgrade the plugin: oneclaw plugins upgrade acme, or install a oneclaw-core<0.0.1",
                True,
            ),
        ),
        (
            PackageMetadata("acme-tools", "3", (), ">=99"),
            False,
            (
                f"acme-tools 3 needs Python >=99, and this is {python}; it was not loaded",
                "install a version of acme-tools for this Python, or disable it with: oneclaw plugins disable acme",
                True,
            ),
        ),
        (
            PackageMetadata(None, None, (), ">=99"),
            False,
            (
                f"acme needs Python >=99, and this is {python}; it was not loaded",
                "install a version of acme for this Python, or disable it with: oneclaw plugins disable acme",
                True,
            ),
        ),
        (
            PackageMetadata("acme-tools", "3", fault="it is damaged"),
            True,
            ("the metadata cannot be read: UnreadableRequirementError: it is damaged", "reinstall it", False),
        ),
    ):
        expected = [] if problem is None else [PluginProblem("compatibility", *problem)]
        assert problems_of(metadata) == (is_usable, expected)


def test_python_is_compared_by_its_version(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 3, "final", 0))
    assert compatibility.python_version() == "3.12.3"
    monkeypatch.setattr(compatibility, "python_version", lambda: "3.13.0b1")
    for requirement, is_met in (
        ("", True),
        (">=3.12", True),
        (">=3.13.0b1", True),
        ("<3.12", False),
        ("nonsense", True),
    ):
        assert compatibility.is_python_suitable(requirement) is is_met


def test_the_older_of_the_two_is_known():
    for requirement, required, is_core_too_old in (
        ("oneclaw-core>=2", ">=2", True),
        ("oneclaw-core>2", ">2", True),
        ("oneclaw-core==2.*", "==2.*", True),
        ("oneclaw-core~=2.1", "~=2.1", True),
        ("oneclaw-core>1", ">1", False),
        ("oneclaw-core!=1", "!=1", False),
        ("oneclaw-core==0.1.*", "==0.1.*", False),
        ("oneclaw-core<1,>=0.1", "<1,>=0.1", False),
    ):
        assert find_incompatibility(["oneclaw-core", requirement], "1") == Incompatibility(required, is_core_too_old)
    with pytest.raises(compatibility.UnreadableRequirementError) as error:
        find_incompatibility(["oneclaw-core>=banana"])
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("Expected")


class Distribution:
    def __init__(self, metadata=None, **attributes):
        vars(self).update(attributes)
        self._metadata = metadata

    def read_text(self, name):
        if isinstance(self._metadata, Exception):
            raise self._metadata
        return self._metadata if name == "METADATA" else None


def test_the_metadata_of_a_distribution_are_read():
    head = "Metadata-Version: 2.4\nName: acme-tools\nVersion: 3.1\n"
    bare = SimpleNamespace(name="acme", version="2", requires=["oneclaw-core<0.0.1", "rich"])
    for distribution, metadata in (
        (None, PackageMetadata()),
        (PackageMetadata("x"), PackageMetadata("x")),
        (Distribution(head), PackageMetadata("acme-tools", "3.1", is_compatible=True)),
        (
            Distribution(f"{head}Requires-Python: >=3\nRequires-Dist: oneclaw-core\n"),
            PackageMetadata("acme-tools", "3.1", ("oneclaw-core",), ">=3", is_compatible=True),
        ),
        (Distribution(f"{head}Requires-Python: >=99\n"), PackageMetadata("acme-tools", "3.1", (), ">=99")),
        (
            Distribution(f"{head}Requires-Dist: oneclaw-core>=99\n"),
            PackageMetadata("acme-tools", "3.1", ("oneclaw-core>=99",)),
        ),
        (
            Distribution(f"{head}Requires-Dist: oneclaw-core>=banana\n"),
            PackageMetadata("acme-tools", "3.1", ("oneclaw-core>=banana",)),
        ),
        (bare, PackageMetadata("acme", "2", ("oneclaw-core<0.0.1",))),
        (SimpleNamespace(), PackageMetadata(is_compatible=True)),
        (Distribution("Name: \n", name="other", version="1"), PackageMetadata("other", "1", is_compatible=True)),
        (
            Distribution(OSError(5, "no disk"), name="x", version="1"),
            PackageMetadata(fault="OSError: [Errno 5] no disk"),
        ),
    ):
        assert discovery.package_metadata(distribution) == metadata


def test_a_plugin_survives_being_stored():
    plugin = InstalledPlugin(
        "acme",
        "acme:plugin",
        PackageMetadata("a", "1", ("b", "c"), ">=3", "odd", True),
        ("x", "y"),
        "/tree",
        "/shipped",
    )
    data = plugin.to_dict()
    assert InstalledPlugin.from_dict(data) == plugin
    assert set(data) == {"name", "value", "dist", "files", "tree", "shipped"}
    assert InstalledPlugin("os", "os.path:join").load() is os.path.join
    for name, value, is_builtin in (
        ("builtin", "oneclaw_core.builtin:x", True),
        ("builtin", "acme", False),
        ("acme", "oneclaw_core.builtin", False),
    ):
        assert InstalledPlugin(name, value).is_builtin is is_builtin


def test_the_stamp_of_a_plugin_changes_with_its_code(tmp_path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    (package / ".hidden").write_text("")
    (package / "inner" / "a.py").write_text("a")
    (package / "loop").symlink_to(package)
    (package / "broken").symlink_to("nowhere")
    file = tmp_path / "RECORD"
    plugin = InstalledPlugin("acme", "acme", files=(str(file),), tree=str(package))
    assert plugin.stamp()[0] == [str(file)]
    file.write_text("record")
    before = plugin.stamp()
    assert before[0] == [str(file), file.stat().st_mtime_ns, 6]
    assert (before[1][:2], before == plugin.stamp()) == ([str(package), 1], True)
    (package / "__pycache__" / "x.pyc").write_text("")
    (package / ".other").write_text("")
    assert plugin.stamp() == before
    for change in (
        lambda: (package / "inner" / "a.py").write_text("ab"),
        lambda: (package / "b.py").write_text(""),
        lambda: (package / "b.py").rename(package / "c.py"),
        lambda: os.utime(package / "c.py", (1, 1)),
        lambda: file.write_text("other record"),
    ):
        change()
        after = plugin.stamp()
        assert after != before
        before = after
    assert InstalledPlugin("acme", "acme", tree=str(tmp_path / "nowhere")).stamp() == [
        [str(tmp_path / "nowhere"), 0, 0]
    ]
    assert InstalledPlugin("acme", "acme", files=("\0",)).stamp() == [["\0"]]


def test_a_large_folder_is_looked_at_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(discovery, "MAX_TREE_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.py").touch()
    (state,) = InstalledPlugin("acme", "acme", tree=str(tmp_path)).stamp()
    assert state[1] == 3


def test_the_search_path_is_looked_at_again_when_it_changes(tmp_path, monkeypatch):
    for name in ("a.dist-info", "b.egg-info", "c.egg-link", "d.egg", "plain", "e.py"):
        (tmp_path / name).mkdir()
    archive = tmp_path / "archive.zip"
    archive.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(archive), str(tmp_path / "gone"), "\0"])
    state = discovery.search_path_state({})
    assert list(state) == [str(tmp_path), str(archive)]
    assert [name for name, _ in state[str(tmp_path)][1]] == ["a.dist-info", "b.egg-info", "c.egg-link", "d.egg"]
    assert state[str(archive)][1] == [["", archive.stat().st_mtime_ns]]
    changed_at = tmp_path.stat().st_mtime_ns
    marked = {str(tmp_path): [changed_at, ["known"]]}
    # A change of the same moment may have come after the look.
    assert discovery.search_path_state(marked)[str(tmp_path)][1] != ["known"]
    os.utime(tmp_path, ns=(changed_at - 3_000_000_000,) * 2)
    marked = {str(tmp_path): [changed_at - 3_000_000_000, ["known"]]}
    assert discovery.search_path_state(marked)[str(tmp_path)] == [changed_at - 3_000_000_000, ["known"]]
    other = {str(tmp_path): [changed_at - 3_000_000_001, ["known"]]}
    assert discovery.search_path_state(other)[str(tmp_path)][1] != ["known"]


def test_packages_are_the_same_whatever_else_changed():
    one = {"/a": [1, ["x"]], "/b": [2, []]}
    for other, is_same in (
        ({"/c": [9, []], "/a": [5, ["x"]]}, True),
        ({"/a": [1, ["y"]]}, False),
        ({"/b": [1, ["x"]]}, False),
        ({"/a": [1, ["x"]], "/c": [1, ["z"]]}, False),
    ):
        assert discovery.holds_same_packages(one, other) is is_same


def point(name, value, distribution):
    return importlib_metadata.EntryPoint(name, value, "oneclaw"), distribution


def test_what_is_installed_is_found_in_order(tmp_path, monkeypatch, caplog):
    def distribution(name, *points, **attributes):
        entry_points = [importlib_metadata.EntryPoint(name, value, group) for name, value, group in points]
        return Distribution(None, name=name, version="1", entry_points=entry_points, **attributes)

    class Damaged:
        _path = "/damaged"

        @property
        def entry_points(self):
            raise ValueError("no section")

    monkeypatch.setattr(
        importlib_metadata,
        "distributions",
        lambda: [
            Damaged(),
            distribution("b-tools", ("b", "b:x", "oneclaw"), ("other", "o", "console_scripts")),
            distribution("a-tools", ("b", "a:x", "oneclaw"), ("a", "a : x [fancy,more]", "oneclaw")),
            distribution("twice", ("b", "b:x", "oneclaw")),
            distribution("oneclaw-web", ("web", "w", "oneclaw")),
            distribution("stranger", ("openai", "s [extra]", "oneclaw")),
            distribution("oneclaw-core", ("builtin", "oneclaw_core.builtin", "oneclaw")),
        ],
    )
    found = discovery.find_installed()
    assert [(each.name, each.value, each.dist.name) for each in found] == [
        ("builtin", "oneclaw_core.builtin", "oneclaw-core"),
        ("web", "w", "oneclaw-web"),
        ("a", "a:x", "a-tools"),
        ("b", "a:x", "a-tools"),
        ("b", "b:x", "b-tools"),
        ("openai", "s", "stranger"),
    ]
    (told,) = [each.getMessage() for each in caplog.records]
    assert told == "the entry points of /damaged cannot be read, reinstall it: ValueError: no section"


def test_what_the_entry_of_a_plugin_depends_on(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    package = tmp_path / "acme_found"
    (package / "inner").mkdir(parents=True)
    for file in (package / "__init__.py", package / "inner" / "__init__.py", package / "leaf.py"):
        file.write_text("")
    record = str(info / "RECORD")
    shipped = package / "acme.entry.json"

    def installed(value, direct_url=None):
        distribution = SimpleNamespace(
            name="acme",
            version="1",
            _path=info,
            requires=[],
            read_text=lambda name: direct_url if name == "direct_url.json" else None,
        )
        found = discovery._installed("acme", value, distribution)
        return found.files, found.tree, found.shipped

    whole = str(package)
    init = str(package / "__init__.py")
    assert installed("acme_found") == ((init,), whole, "")
    (info / "RECORD").write_text("")
    assert installed("acme_found:plugin") == ((record, init), "", "")
    assert installed("acme_found.inner:x") == ((record, str(package / "inner" / "__init__.py")), "", "")
    assert installed("acme_found.leaf") == ((record, str(package / "leaf.py")), "", "")
    assert installed("acme_no_such.module") == ((record,), "", "")
    shipped.write_text("{}")
    assert installed("acme_found") == ((record, init), "", str(shipped))
    assert installed("acme_found", '{"dir_info": {"editable": true}}') == ((record, init), whole, "")
    for url in ('{"dir_info": {"editable": false}}', '{"url": "x"}', "{", "[]", '{"dir_info": {"editable": 1}}'):
        assert installed("acme_found", url) == ((record, init), "", str(shipped)), url


def test_the_builtin_tools_depend_on_their_package_alone():
    builtin = next(each for each in discovery.find_installed() if each.is_builtin)
    assert builtin.tree.endswith("oneclaw_core/builtin")
    assert builtin.files[-1].endswith("oneclaw_core/tools/load_tool_group.py")
    assert builtin.files[-2].endswith("oneclaw_core/builtin/__init__.py")


def test_plugins_are_found_by_their_names_or_packages(monkeypatch):
    first = GivenPlugin("one", object(), dist=PackageMetadata("pack"))
    second = GivenPlugin("two", object(), dist=PackageMetadata("pack"))
    assert named_plugins([first, second], " pack ") == [first, second]
    assert named_plugins([first, second], "two") == [second]
    with pytest.raises(NotFoundError) as error:
        named_plugins(iter([first, second]), " three ")
    assert str(error.value) == (
        "no plugin 'three' is installed; installed are: one, two. Install the package that is tested, such as by: pip "
        "install --editable ."
    )
    monkeypatch.setattr(loading, "discover", lambda: [first, second])
    module = SimpleNamespace(__name__="acme.plugin")
    assert given_plugins("one") == [first]
    assert given_plugins(["one", "pack", second, module, os]) == [
        *(first, second, second, GivenPlugin("plugin", module), GivenPlugin("os", os)),
    ]
    assert [plugin_name(each) for each in (module, object(), "text")] == ["plugin", "object", "str"]
    given = given_plugins([module])[0]
    assert (given.value, given.has_own_loop, given.dist, given.load()) == ("given by the program", False, None, module)


class Failing:
    def __init__(self, call, name):
        self.name = name

    def wait(self, seconds):
        assert seconds == isolation.LOAD_SECONDS
        raise self.error


def test_an_import_that_fails_is_named_with_a_remedy(monkeypatch):
    for raised, cause, check in (
        (ForeignError(ValueError("x")), "ValueError: x", "import.fails"),
        (ForeignError(SystemExit(3)), "SystemExit: 3", "import.exits"),
        (TimeoutError(), f"it did not end within {isolation.LOAD_SECONDS:g} s", "import.hangs"),
    ):
        monkeypatch.setattr(
            "oneclaw_core.plugins.loading.plugin_import.ForeignCall",
            lambda call, name, raised=raised: type("Call", (Failing,), {"error": raised})(call, name),
        )
        whole = PluginRecord("acme", "acme-tools", "1", "acme:plugin")
        part = PluginRecord("acme", target="acme:plugin")
        for record, target, package, what in (
            (whole, None, " (acme-tools 1)", "acme:plugin"),
            (part, "acme:thing", "", "acme:thing"),
        ):
            started = PluginImport(record, target, len, None)
            assert started._call.name == "import of acme"
            for _ in range(2):
                with pytest.raises(PluginError) as error:
                    started.wait()
                assert str(error.value) == (
                    f"plugin acme{package}: {what} cannot be imported: {cause}; upgrade the plugin, or disable it "
                    "with: oneclaw plugins disable acme"
                )
        remedy = "upgrade acme-tools, or disable it with: oneclaw plugins disable acme"
        assert whole.problems == [PluginProblem("import", cause, remedy, True, check)]
        assert part.problems == []


def test_a_cache_holds_what_was_written(tmp_path, monkeypatch):
    path = tmp_path / "cache" / "plugins.json"
    cache = CatalogueCache(path)
    assert cache.read() == {}
    plugins = [{"name": "é", "entry": '{"tools":["é"]}'}, {"name": "b", "entry": None}]
    content = {"paths": {"/a": [1, []]}, "plugins": plugins}
    cache.write(content)
    assert (cache.read(), path.stat().st_mode & 0o777) == (content, 0o600)
    header, _, body = path.read_bytes().partition(b"\n")
    assert b" " not in body
    for damaged in (header + b"\n" + body[:-1] + b" ", header, b"", b"[]\n" + body, header + b"\n[]"):
        path.write_bytes(damaged)
        assert cache.read() == {}
    nowhere = CatalogueCache(None)
    nowhere.write(content)
    assert nowhere.read() == {}
    for change, value in (("prefix", "/else"), ("version", "4.0")):
        cache.write(content)
        with monkeypatch.context() as patch:
            patch.setattr(sys, change, value)
            assert cache.read() == {}
        assert cache.read() == content


def test_a_folder_that_others_can_write_to_holds_no_cache(tmp_path):
    for mode, is_used in ((0o700, True), (0o755, True), (0o720, False), (0o702, False)):
        folder = tmp_path / oct(mode)
        folder.mkdir()
        folder.chmod(mode)
        CatalogueCache(folder / "plugins.json").write({"plugins": []})
        is_written = (folder / "plugins.json").exists()
        if folder.stat().st_mode & 0o777 == mode:
            assert is_written is is_used


def test_the_cache_lies_in_the_folder_of_the_user(monkeypatch):
    for variable, folder in (("/caches", "/caches/oneclaw"), ("", "/home/acme/.cache/oneclaw")):
        monkeypatch.setenv("XDG_CACHE_HOME", variable)
        monkeypatch.setenv("HOME", "/home/acme")
        path = user_cache()._path
        assert str(path.parent) == folder
        assert (path.name.startswith("plugins-"), len(path.name)) == (True, 21)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    names = set()
    for prefix in ("/one", "/two"):
        monkeypatch.setattr(sys, "prefix", prefix)
        names.add(user_cache()._path.name)
    assert len(names) == 2


def test_an_entry_in_a_package_has_paths_of_the_place_where_it_is(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    new.mkdir()

    def entry(folder, name="acme"):
        return PluginEntry(
            name,
            registrations=[
                Registration("register_skills", name, "x", None, {"folder": f"{folder}/skills/x"}),
                Registration("register_skills", name, "y", None, {"folder": "/elsewhere"}),
                Registration("register_checks", name, "z", "a:b", {"folder": "unchanged"}),
            ],
            manifests=[f"{folder}/acme.json", "/elsewhere.json"],
        )

    described = entry(old)
    described.import_ms = 9.0
    document = shipped_document(described, "acme-tools", "1", old)
    assert (document["entry"]["import_ms"], str(old) in str(document)) == (None, False)
    file = new / "acme.entry.json"
    plugin = InstalledPlugin("renamed", "acme", PackageMetadata("acme-tools", "1"))

    def read(change):
        import json

        file.write_text(json.dumps(document | change))
        return read_shipped_entry(file, plugin)

    found = read({})
    assert found.name == "renamed"
    assert (found.manifests, [each.options for each in found.registrations]) == (
        *(entry(new).manifests, [each.options for each in entry(new).registrations]),
    )
    for change in ({"format": 0}, {"contract": 0}, {"package": "x"}, {"version": "2"}, {"entry": {}}, {"entry": None}):
        assert read(change) is None
    file.unlink()
    assert read_shipped_entry(file, plugin) is None


class Kept:
    """A cache in this process."""

    def __init__(self):
        self.content, self.writes = {}, 0

    def read(self):
        return self.content

    def write(self, content):
        self.content, self.writes = content, self.writes + 1


@pytest.fixture
def environment(monkeypatch):
    """Plugins that are found and described without any package."""
    from oneclaw_core.plugins.catalogue import child_description, entries

    state = SimpleNamespace(
        plugins=[InstalledPlugin("a", "a"), InstalledPlugin("b", "b")],
        paths={"/site": [1, [["a.dist-info", 1]]]},
        described=[],
        problems={},
        hooks={},
    )

    def describe(plugins):
        state.described.append([each.name for each in plugins])
        return [
            PluginEntry(each.name, problems=state.problems.get(each.name, []), hooks=state.hooks.get(each.name, {}))
            for each in plugins
        ]

    monkeypatch.setattr(entries, "search_path_state", lambda known: dict(state.paths))
    monkeypatch.setattr(entries, "find_installed", lambda: list(state.plugins))
    monkeypatch.setattr(child_description, "describe_in_child", describe)
    state.cache = Kept()
    return state


def look(environment, records=()):
    catalogue = InstalledCatalogue(environment.cache)
    found = catalogue.entries(catalogue.plugins())
    catalogue.save(records)
    return catalogue, {each.name: entry for each, entry in found.items()}


FAILURE = PluginProblem("import", "no module x", "install it", True, "import.fails")


def test_an_entry_is_described_once(environment):
    assert list(look(environment)[1]) == ["a", "b"]
    assert (environment.described, environment.cache.writes) == ([["a", "b"]], 1)
    look(environment)
    assert (environment.described, environment.cache.writes) == ([["a", "b"]], 1)
    environment.paths = {"/site": [2, [["a.dist-info", 1]]]}
    look(environment)
    assert (environment.described, environment.cache.writes) == ([["a", "b"]], 2)
    environment.paths = {"/site": [2, [["a.dist-info", 1]]], "/empty": [7, []]}
    look(environment)
    assert environment.cache.writes == 2
    environment.paths = {"/site": [3, [["a.dist-info", 1], ["c.dist-info", 1]]]}
    environment.plugins.append(InstalledPlugin("c", "c"))
    assert list(look(environment)[1]) == ["a", "b", "c"]
    assert (environment.described, environment.cache.writes) == ([["a", "b"], ["c"]], 3)
    environment.cache.content = {**environment.cache.content, "plugins": [{"plugin": 1}]}
    look(environment)
    assert environment.described[2:] == [["a", "b", "c"]]


def test_a_failure_that_may_pass_is_described_again_with_another_package(environment):
    lasting = PluginProblem("hooks", "bad", "fix", True, "hooks.raises")
    environment.problems = {"a": [FAILURE], "b": [lasting]}
    look(environment)
    look(environment)
    assert environment.described == [["a", "b"]]
    environment.paths = {"/site": [3, [["c.dist-info", 1]]]}
    look(environment)
    assert environment.described[1:] == [["a"]]


def test_a_plugin_that_failed_can_be_described_again(environment):
    note = PluginProblem("hooks", "odd", "look", False)
    environment.problems = {"a": [FAILURE], "b": [note]}
    catalogue, _ = look(environment)
    assert [catalogue.forget(each) for each in ("b", "none", "a", "a")] == [False, False, True, False]
    assert environment.cache.writes == 2
    look(environment)
    assert environment.described[1:] == [["a"]]


def test_what_a_user_was_told_is_known(environment):
    plugin = environment.plugins[0]
    record = PluginRecord(
        "a", problems=[FAILURE, PluginProblem("x", "told too", "y"), PluginProblem("x", "z", "y", False)]
    )
    look(environment, [(plugin, record)])
    again = InstalledCatalogue(environment.cache)
    assert again.known_causes(plugin) == {"no module x", "told too"}
    assert again.known_causes(environment.plugins[1]) == frozenset() == again.known_causes(InstalledPlugin("x", "x"))
    again.save([(plugin, record)])
    assert environment.cache.writes == 1
    again.save([(plugin, PluginRecord("a"))])
    assert (environment.cache.writes, InstalledCatalogue(environment.cache).known_causes(plugin)) == (2, frozenset())


def test_gates_and_rewriters_of_the_last_version_stay_in_force(environment):
    options = {"before_tool_call": {"n": 1}, "rewrite_tool_call": {"n": 2}, "turn_finished": {"n": 3}}
    guards = {key: options[key] for key in ("before_tool_call", "rewrite_tool_call")}
    environment.hooks = {
        "a": {key: value for key, value in options.items() if key != "turn_finished"} | {"message_context": {}}
    }
    catalogue, _ = look(environment)
    plugin = environment.plugins[0]
    assert catalogue.guards(plugin) == guards == InstalledCatalogue(environment.cache).guards(plugin)
    assert catalogue.guards(environment.plugins[1]) == {} == catalogue.guards(InstalledPlugin("x", "x"))
    # Of the next version nothing is known but that it cannot be imported.
    environment.plugins[0] = InstalledPlugin("a", "a:new")
    environment.paths = {"/site": [2, [["a.dist-info", 2]]]}
    environment.problems, environment.hooks = {"a": [FAILURE]}, {"a": {"plugin_started": {}}}
    catalogue, found = look(environment)
    assert found["a"].hooks == {**guards, "plugin_started": {}}
    assert catalogue.guards(environment.plugins[0]) == guards
    note = PluginProblem("import", "odd", "look", False)
    environment.plugins[0] = InstalledPlugin("a", "a:newest")
    environment.paths = {"/site": [3, [["a.dist-info", 3]]]}
    environment.problems = {"a": [note]}
    assert look(environment)[0].guards(environment.plugins[0]) == {}


def test_the_builtin_tools_are_described_here(environment):
    environment.plugins = [next(each for each in discovery.find_installed() if each.is_builtin)]
    _, found = look(environment)
    assert (environment.described, bool(found["builtin"].tools)) == ([], True)
    environment.plugins.append(InstalledPlugin("a", "a"))
    environment.paths = {"/site": [2, [["b.dist-info", 1]]]}
    environment.cache = Kept()
    _, found = look(environment)
    assert (environment.described, bool(found["builtin"].tools)) == ([["builtin", "a"]], True)
    assert all(each.tool is None for each in found["builtin"].tools)


def test_metadata_of_another_package_that_cannot_be_read_cost_no_tool(tmp_path):
    damaged = tmp_path / "junk-1.0.dist-info"
    damaged.mkdir()
    (damaged / "METADATA").write_bytes(b"\xff\xfe\0")
    (damaged / "entry_points.txt").write_bytes(b"\xff\xfe[")
    program = (
        "from oneclaw_core import tool\n"
        "@tool\ndef roll(sides: int) -> str:\n    'Roll.'\n"
        "print(roll.definition.parameters['required'])"
    )
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}

    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)

    assert (done.stdout, done.returncode) == ("['sides']\n", 0), done.stderr
