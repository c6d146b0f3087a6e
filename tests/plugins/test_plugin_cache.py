"""The cache of plugins: which plugins are imported at a start, and when."""

import shutil
import sys

import pytest
from how_long import some
from site_plugins import GOOD, install, ours, remove

from oneclaw_core.config.plugin_settings import registered_settings
from oneclaw_core.plugins.cache import cache_path
from oneclaw_core.plugins.loading import discover, load_plugins

SETTINGS = """
import sys
from pydantic import BaseModel
from oneclaw_core import hookimpl

class Settings(BaseModel):
    place: str = "here"

@hookimpl
def register_settings(register):
    register(Settings)
"""


@pytest.fixture
def imports(site, tmp_path, monkeypatch):
    """Return how often the plugin ``good`` was imported since this was last asked."""
    log = tmp_path / "imports"
    monkeypatch.setenv("ACME_LOG", str(log))

    def count():
        sys.modules.pop("good_plugin", None)
        found = log.read_text() if log.exists() else ""
        log.write_text("")
        return len(found)

    return count


NOTING = "import os\nwith open(os.environ['ACME_LOG'], 'a') as file:\n    file.write('x')\n" + GOOD


def load():
    return {each.name: each for each in load_plugins(ours()).plugins}


@pytest.mark.long
def test_a_plugin_is_imported_once_and_again_when_its_code_changes(site, imports):
    install(site, "good", NOTING)
    load()
    assert imports() == 1
    assert load()["good"].tools == ["good_tool"]
    assert imports() == 0
    (site / "good_plugin.py").write_text(NOTING + "\n# changed\n")
    load()
    assert imports() == 1


@pytest.mark.long
def test_a_broken_link_beside_the_packages_hides_none_of_them(site, tmp_path, monkeypatch):
    load()
    other = tmp_path / "other"
    other.mkdir()
    install(other, "good", GOOD)
    (other / "gone-1.0.dist-info").symlink_to(tmp_path / "gone")
    monkeypatch.syspath_prepend(other)
    assert load()["good"].tools == ["good_tool"]


@pytest.mark.long
def test_another_package_does_not_have_the_known_ones_imported(site, imports):
    install(site, "good", NOTING)
    load()
    install(site, "hostile", "import a_module_that_is_nowhere")
    assert load()["hostile"].status == "failed"
    assert imports() == 1
    install(site, "a_module_that_is_nowhere", GOOD.replace("good_tool", "other_tool"))
    (site / "a_module_that_is_nowhere.py").write_text(GOOD.replace("good_tool", "third_tool"))
    # It may have been this one that was missing.
    assert load()["hostile"].problems[0].cause != "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'"
    assert imports() == 0
    remove(site, "good")
    assert "good" not in load()


@pytest.mark.long
def test_two_search_paths_of_one_environment_keep_what_each_finds(site, imports, tmp_path, monkeypatch):
    install(site, "good", NOTING)
    other = tmp_path / "other"
    other.mkdir()
    install(other, "hostile", GOOD.replace("good_tool", "other_tool"))
    load()
    assert imports() == 1
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "path", [str(other), *(each for each in sys.path if each != str(site))])
            found = load()
            assert (found["hostile"].tools, "good" in found) == (["other_tool"], False)
        found = load()
        assert (found["good"].tools, "hostile" in found) == (["good_tool"], False)
    assert imports() == 0


@pytest.mark.long
@pytest.mark.parametrize("change", some(["deleted", "damaged", "open to others", "cut off"], 2))
def test_a_cache_that_cannot_be_used_costs_one_import(change, site, imports):
    install(site, "good", NOTING)
    load()
    assert imports() == 1
    path = cache_path()
    if change == "deleted":
        path.unlink()
    elif change == "damaged":
        path.write_bytes(path.read_bytes().replace(b"good_tool", b"evil_tool"))
    elif change == "open to others":
        path.chmod(0o666)
    else:
        path.write_bytes(path.read_bytes()[:-100])
    assert load()["good"].tools == ["good_tool"]
    assert imports() == 1


def test_without_a_place_for_the_cache_everything_works(site, imports, tmp_path):
    install(site, "good", NOTING)
    (tmp_path / "cache").write_text("a file is in its place")
    for _ in range(2):
        assert load()["good"].tools == ["good_tool"]
        assert imports() == 1


def test_the_cache_belongs_to_its_user_alone(site):
    install(site, "good", GOOD)
    load()
    path = cache_path()
    assert path.stat().st_mode & 0o777 == 0o600
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.parent.chmod(0o777)
    load()
    assert not path.exists()


def test_the_cache_is_that_of_the_environment(monkeypatch):
    names = set()
    for prefix in ("/one", "/two"):
        monkeypatch.setattr(sys, "prefix", prefix)
        names.add(cache_path().name)
    assert len(names) == 2


@pytest.mark.long
def test_a_problem_is_told_once_and_again_after_it_changed(site, caplog):
    install(site, "hostile", "raise ValueError('one')")
    for size, (cause, count) in enumerate((("one", 1), ("one", 0), ("two", 1))):
        # Python takes a source of the same size and the same second for the same one, so each has a size of its own.
        (site / "hostile_plugin.py").write_text(f"raise ValueError({cause!r})" + "\n" * size)
        caplog.clear()
        assert f"ValueError: {cause}" in load()["hostile"].problems[0].cause
        assert len([each for each in caplog.records if "hostile" in each.getMessage()]) == count


@pytest.mark.long
def test_settings_of_others_are_described_at_the_first_look(site):
    install(site, "good", SETTINGS)
    load()
    sys.modules.pop("good_plugin", None)
    (row,) = (each for each in load()["good"].registrations if each.hook == "register_settings")
    assert list(row.options["schema"]["properties"]) == ["place"]
    assert "good_plugin" not in sys.modules


@pytest.mark.long
def test_own_settings_are_described_when_they_are_needed_and_once(site):
    def described():
        plugins = load_plugins().plugins
        rows = [each for plugin in plugins for each in plugin.registrations if each.hook == "register_settings"]
        return {each.plugin for each in rows if "schema" in each.options}

    catalog = load_plugins()
    assert described() == set()
    settings = {each.plugin for each in registered_settings(catalog.plugins)}
    assert "search" in settings
    assert described() == settings


@pytest.mark.long
def test_own_settings_are_described_before_others_can_take_their_variables(site):
    model = SETTINGS.replace("place", "key").replace("here", "")
    install(site, "search_api", model)
    catalog = load_plugins()
    (plugin,) = (each for each in catalog.plugins if each.name == "search_api")
    assert "ONECLAW_SEARCH_API_KEY" in plugin.problems[0].cause
    assert "belongs to oneclaw-search" in plugin.problems[0].cause
    assert "search_api" not in {each.plugin for each in registered_settings(catalog.plugins)}


@pytest.mark.long
def test_many_new_plugins_are_found_in_time_that_grows_with_their_number(site):
    """Look for steps that compare each plugin with each: the calls of OneClaw's functions are counted, not the time."""

    def calls(count):
        for number in range(count):
            if not (site / f"p{number}_plugin.py").exists():
                install(site, f"p{number}", GOOD.replace("good_tool", f"tool_{number}"))
        cache_path().unlink(missing_ok=True)
        counted = 0

        def count_call(frame, event, argument):
            nonlocal counted
            counted += event == "call" and "oneclaw_core" in frame.f_code.co_filename

        disabled = ours()
        sys.setprofile(count_call)
        try:
            found = load_plugins(disabled)
        finally:
            sys.setprofile(None)
        assert len([each for each in found.plugins if each.tools and each.name.startswith("p")]) >= count
        return counted

    few, many = calls(15), calls(60)
    assert many < 5 * few
    assert len(discover()) > 60
    assert cache_path().exists()
