"""What a new plugin can be called, and the names that come of it."""

import pytest
from oneclaw_devtools.scaffold.names import MAX_NAME_CHARACTERS, TakenNames, check_not_taken, plugin_names

from oneclaw_core import DuplicateError, UsageError


@pytest.mark.parametrize(
    ("name", "distribution", "package", "plugin", "title"),
    [
        ("acme-tables", "acme-tables", "acme_tables", "acme_tables", "Acme Tables"),
        ("Acme_Tables", "acme-tables", "acme_tables", "acme_tables", "Acme Tables"),
        (" acme..tables ", "acme-tables", "acme_tables", "acme_tables", "Acme Tables"),
        ("oneclaw-weather", "oneclaw-weather", "oneclaw_weather", "weather", "Weather"),
        ("x2", "x2", "x2", "x2", "X2"),
        ("oneclaw-json", "oneclaw-json", "oneclaw_json", "json", "Json"),
    ],
)
def test_names_are_made_from_one(name, distribution, package, plugin, title):
    names = plugin_names(name)

    assert (names.distribution, names.package, names.plugin, names.title) == (distribution, package, plugin, title)
    assert names.tools == (f"{plugin}_count_words", f"{plugin}_page_title")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "not a valid name"),
        ("-", "not a valid name"),
        ("-acme", "not a valid name"),
        ("acme-", "not a valid name"),
        ("acme tables", "not a valid name"),
        ("acme/tables", "not a valid name"),
        ("../acme", "not a valid name"),
        ("acme\n", None),
        ("acme\x1b[2J", "not a valid name"),
        ("größe", "not a valid name"),
        ("a" * (MAX_NAME_CHARACTERS + 1), "not a valid name"),
        ("3d", "begin it with a letter, such as acme-3d"),
        ("oneclaw-3d", "begin it with a letter"),
        ("class", "word of the Python language"),
        ("oneclaw-match", "word of the Python language"),
        ("json", "module of Python's own"),
        ("oneclaw", "another meaning here"),
        ("OneClaw_Core", "another meaning here"),
        ("oneclaw-builtin", "another meaning here"),
        ("tests", "another meaning here"),
    ],
)
def test_names_that_cannot_be(name, why):
    if why is None:
        assert plugin_names(name).distribution == "acme"
        return
    with pytest.raises(UsageError, match=why) as caught:
        plugin_names(name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("taken", "what"),
    [
        (TakenNames(plugins=frozenset({"acme"})), "a plugin named 'acme'"),
        (TakenNames(groups=frozenset({"acme"})), "a tool group 'acme'"),
        (TakenNames(tools=frozenset({"acme_page_title"})), "a tool 'acme_page_title'"),
        (TakenNames(skills=frozenset({"acme-word-report"})), "a skill 'acme-word-report'"),
    ],
)
def test_names_that_are_taken(taken, what):
    check_not_taken(plugin_names("acme"), TakenNames())
    with pytest.raises(DuplicateError, match=what):
        check_not_taken(plugin_names("acme"), taken)


def test_a_module_that_is_installed():
    with pytest.raises(DuplicateError, match="a module 'pytest' is installed already"):
        check_not_taken(plugin_names("pytest"), TakenNames())
