"""Plugins as the metadata of their packages tell, and which of them can be used here."""

import os
import subprocess
import sys
from types import SimpleNamespace

import importlib_metadata
import pytest

from oneclaw_core.errors import NotFoundError
from oneclaw_core.installation.given_plugins import given_plugins, named_plugins
from oneclaw_core.plugins import compatibility, installed
from oneclaw_core.plugins.compatibility import Incompatibility, find_incompatibility
from oneclaw_core.plugins.installed import described, stamp
from oneclaw_core.plugins.plugin import Plugin, PluginProblem

CORE = compatibility.CORE_VERSION
PYTHON = "{}.{}.{}".format(*sys.version_info[:3])
HEAD = "Metadata-Version: 2.4\nName: acme-tools\nVersion: 3\n"


def test_why_a_plugin_does_not_go_with_this_program_is_told():
    for metadata, problem in (
        (HEAD, None),
        (f"{HEAD}Requires-Python: >=3\nRequires-Dist: oneclaw-core\n", None),
        (f"{HEAD}Requires-Python: nonsense\n", None),
        (
            f"{HEAD}Requires-Dist: oneclaw-core>=99\n",
            (
                f"acme-tools 3 was made for oneclaw-core>=99, and this is {CORE}; it was not loaded",
                f"upgrade oneclaw-core, or install a version of acme-tools that goes with {CORE}",
                True,
            ),
        ),
        (
            f"{HEAD}Requires-Dist: oneclaw-core<0.0.1\n",
            (
                f"acme-tools 3 was made for oneclaw-core<0.0.1, and this is {CORE}; it was not loaded",
                "upgrade the plugin: oneclaw plugins upgrade acme-tools, or install a oneclaw-core<0.0.1",
                True,
            ),
        ),
        (
            f"{HEAD}Requires-Python: >=99\n",
            (
                f"acme-tools 3 needs Python >=99, and this is {PYTHON}; it was not loaded",
                "install a version of acme-tools for this Python, or disable it with: oneclaw plugins disable acme",
                True,
            ),
        ),
    ):
        plugin = described("acme", "acme:plugin", Distribution(metadata))
        assert (plugin.name, plugin.target, plugin.package) == ("acme", "acme:plugin", "acme-tools 3")
        assert plugin.metadata_problem == (None if problem is None else PluginProblem("compatibility", *problem))
    damaged = described("acme", "acme", Distribution(OSError(5, "no disk"), name="x", version="1"))
    cause = "the metadata cannot be read: OSError: [Errno 5] no disk"
    assert damaged.metadata_problem == PluginProblem("compatibility", cause, "reinstall it", False)
    bare = described("acme", "acme", SimpleNamespace(name="acme", version="2", requires=["oneclaw-core<0.0.1", "rich"]))
    assert (bare.package, bare.metadata_problem.is_error) == ("acme 2", True)
    assert described("acme", "acme", None) == Plugin("acme", "acme")


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
    with pytest.raises(ValueError, match="Expected"):
        find_incompatibility(["oneclaw-core>=banana"])


class Distribution:
    def __init__(self, metadata=None, **attributes):
        vars(self).update(attributes)
        self._metadata = metadata

    def read_text(self, name):
        if isinstance(self._metadata, Exception):
            raise self._metadata
        return self._metadata if name == "METADATA" else None


def test_the_stamp_of_a_plugin_changes_with_its_code(tmp_path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    (package / ".hidden").write_text("")
    (package / "inner" / "a.py").write_text("a")
    (package / "loop").symlink_to(package)
    (package / "broken").symlink_to("nowhere")
    file = tmp_path / "RECORD"
    plugin = Plugin("acme", "acme", files=(str(file),), tree=str(package))
    assert stamp(plugin)[0] == [str(file)]
    file.write_text("record")
    before = stamp(plugin)
    assert before[0] == [str(file), file.stat().st_mtime_ns, 6]
    assert (before[1][:2], before == stamp(plugin)) == ([str(package), 1], True)
    (package / "__pycache__" / "x.pyc").write_text("")
    (package / ".other").write_text("")
    assert stamp(plugin) == before
    for change in (
        lambda: (package / "inner" / "a.py").write_text("ab"),
        lambda: (package / "b.py").write_text(""),
        lambda: (package / "b.py").rename(package / "c.py"),
        lambda: os.utime(package / "c.py", (1, 1)),
        lambda: file.write_text("other record"),
    ):
        change()
        after = stamp(plugin)
        assert after != before
        before = after
    assert stamp(Plugin("acme", "acme", tree=str(tmp_path / "nowhere"))) == [[str(tmp_path / "nowhere"), 0, 0]]
    assert stamp(Plugin("acme", "acme", files=("\0",))) == [["\0"]]


def test_a_large_folder_is_looked_at_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "MAX_TREE_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.py").touch()
    (state,) = stamp(Plugin("acme", "acme", tree=str(tmp_path)))
    assert state[1] == 3


def test_the_search_path_is_looked_at_again_when_packages_in_it_change(tmp_path, monkeypatch):
    for name in ("a.dist-info", "b.egg-info", "c.egg-link", "d.egg"):
        (tmp_path / name).mkdir()
    archive = tmp_path / "archive.zip"
    archive.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(archive), str(tmp_path / "gone"), "\0"])
    states = [installed.search_path_state()]
    (tmp_path / "module.py").touch()
    sys.path.append(str(tmp_path / "a.dist-info"))
    assert installed.search_path_state() == states[0]
    for change in (
        lambda: (tmp_path / "e.dist-info").mkdir(),
        lambda: os.utime(tmp_path / "b.egg-info", (1, 1)),
        lambda: (tmp_path / "c.egg-link").rename(tmp_path / "f.egg-link"),
        lambda: os.utime(archive, (1, 1)),
        lambda: (tmp_path / "broken.dist-info").symlink_to("nowhere"),
        lambda: sys.path.reverse(),
    ):
        change()
        states.append(installed.search_path_state())
    assert len(set(states)) == len(states)


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
        lambda path: [
            Damaged(),
            distribution("b-tools", ("b", "b:x", "oneclaw"), ("other", "o", "console_scripts")),
            distribution("a-tools", ("b", "a:x", "oneclaw"), ("a", "a : x [fancy,more]", "oneclaw")),
            distribution("twice", ("b", "b:x", "oneclaw")),
            distribution("oneclaw-web", ("web", "w", "oneclaw")),
            distribution("stranger", ("openai", "s [extra]", "oneclaw")),
            distribution("oneclaw-core", ("builtin", "oneclaw_core.builtin", "oneclaw")),
        ],
    )
    found = installed.find_installed()
    assert [(each.name, each.target, each.distribution) for each in found] == [
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

    def found_of(value, direct_url=None):
        distribution = SimpleNamespace(
            name="acme",
            version="1",
            _path=info,
            requires=[],
            read_text=lambda name: direct_url if name == "direct_url.json" else None,
        )
        found = installed._installed("acme", value, distribution)
        return found.files, found.tree

    whole = str(package)
    init = str(package / "__init__.py")
    assert found_of("acme_found") == ((init,), whole)
    (info / "RECORD").write_text("")
    assert found_of("acme_found:plugin") == ((record, init), "")
    assert found_of("acme_found.inner:x") == ((record, str(package / "inner" / "__init__.py")), "")
    assert found_of("acme_found.leaf") == ((record, str(package / "leaf.py")), "")
    assert found_of("acme_no_such.module") == ((record,), "")
    assert found_of("acme_found", '{"dir_info": {"editable": true}}') == ((record, init), whole)
    for url in ('{"dir_info": {"editable": false}}', '{"url": "x"}', "{", "[]", '{"dir_info": {"editable": 1}}'):
        assert found_of("acme_found", url) == ((record, init), ""), url


def test_the_builtin_tools_depend_on_their_package_alone():
    builtin = next(each for each in installed.find_installed() if each.is_builtin)
    assert builtin.tree.endswith("oneclaw_core/builtin")
    assert builtin.files[-1].endswith("oneclaw_core/tools/group_tools.py")
    assert builtin.files[-2].endswith("oneclaw_core/builtin/__init__.py")


def test_plugins_are_found_by_their_names_or_packages(monkeypatch):
    first, second = Plugin("one", "one", "pack"), Plugin("two", "two", "pack")
    assert named_plugins([first, second], " pack ") == [first, second]
    assert named_plugins([first, second], "two") == [second]
    with pytest.raises(NotFoundError) as error:
        named_plugins(iter([first, second]), " three ")
    assert str(error.value) == (
        "no plugin 'three' is installed; installed are: one, two. Install the package that is tested, such as by: pip "
        "install --editable ."
    )
    monkeypatch.setattr("oneclaw_core.installation.given_plugins.discover", lambda: [first, second])
    module = SimpleNamespace(__name__="acme.plugin")
    assert given_plugins("one") == [first]
    found = given_plugins(["one", "pack", second, module, object()])
    assert [each.name for each in found] == ["one", "two", "two", "plugin", "object"]
    given = found[3]
    assert (given.target, given.has_own_loop, given.distribution) == ("given by the program", False, None)
    assert given.load_target() is module


@pytest.mark.long
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
