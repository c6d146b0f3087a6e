"""Every kind of broken plugin is told apart by ``oneclaw plugins check``; see ``tests/support/broken_plugins``."""

import pytest
from broken_plugins.kinds import FOLDER, KINDS, make_wheel
from how_long import some
from oneclaw_devtools.conformance.check import Options, Patience, check_plugin
from oneclaw_devtools.conformance.finding import Severity

from oneclaw_core import PluginError

pytestmark = pytest.mark.one_python

# Hanging ends at these limits, and nothing else may come near them on a busy machine.
PATIENT = Patience(load_seconds=30, call_seconds=30)
LIMITS = {
    "hangs_at_import": Patience(load_seconds=6),
    "hangs_in_hook": Patience(load_seconds=6),
    "hanging_tool": Patience(load_seconds=30, call_seconds=1),
    "blocking_tool": Patience(load_seconds=30, call_seconds=1),
}


def check(name, folder, patience):
    options = Options(are_tools_called=KINDS[name].is_called, patience=patience, neighbours=())
    return check_plugin(str(make_wheel(name, folder)), options)


def test_what_a_hook_prints_is_told_apart_from_what_an_import_prints(tmp_path):
    found = {each.check for each in check("prints_in_hook", tmp_path, PATIENT).findings}

    assert "hooks.prints" in found
    assert "import.prints" not in found


@pytest.mark.long
@pytest.mark.parametrize("name", some(KINDS, 30))
def test_a_broken_plugin_is_told_apart(name, tmp_path):
    report = check(name, tmp_path, LIMITS.get(name, PATIENT))

    found = {each.check for each in report.findings}
    serious = {each.check for each in report.findings if each.severity is not Severity.NOTE}
    about = {each.check: each.cause for each in report.findings}
    assert set(KINDS[name].finds) <= found, about
    # How long an import takes is the machine's doing, too.
    assert serious - {"import.slow"} <= set(KINDS[name].finds), about
    assert all(each.cause and each.remedy and "\n" not in each.cause for each in report.findings)


def test_every_package_is_in_the_table():
    assert {path.parents[1].name for path in FOLDER.glob("*/*/__init__.py")} == set(KINDS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("import os\nos.closerange(0, 1000)\n", "import.kills", marks=pytest.mark.long),
        ("import ctypes\nctypes.string_at(0)\n", "import.kills"),
        pytest.param(
            "import json\nvars(json)[7] = print\njson.dumps = None\n", "import.changes-process", marks=pytest.mark.long
        ),
        pytest.param("while True:\n    print('x' * 1_000_000)\n", "import.fails", marks=pytest.mark.long),
        ("import os\nif os.fork() == 0:\n    while True:\n        pass\n", "import.leaves-processes"),
    ],
)
def test_a_plugin_that_fights_the_process_does_not_break_the_check(source, expected, tmp_path):
    assert expected in {each.check for each in check_source(source, tmp_path).findings}


SPOKEN = ['{"plugin": {"name": "a"}, "done": 1}', '{"end": 7}', '{"plugin": 7, "done": 1}']


@pytest.mark.long
@pytest.mark.parametrize("message", some(SPOKEN, 4))
def test_a_plugin_that_speaks_for_the_process_is_not_believed(message, tmp_path):
    source = f"import os\nfor each in range(3, 20):\n    try:\n        os.write(each, b'{message}\\n')\n"
    with pytest.raises(PluginError, match="disturbed the process that looked at it"):
        check_source(source + "    except OSError:\n        pass\n", tmp_path)


def check_source(source, folder):
    (folder / "pyproject.toml").write_text('[project]\nname = "a"\n[project.entry-points.oneclaw]\na = "hostile_a"\n')
    (folder / "hostile_a.py").write_text(source)
    return check_plugin(str(folder), Options(are_tools_called=False, patience=PATIENT, neighbours=()))
