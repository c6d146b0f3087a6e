"""`oneclaw plugins new`."""

import os

import pytest


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty current directory, and a git that knows no one."""
    path = tmp_path / "place"
    path.mkdir()
    monkeypatch.chdir(path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return path


def test_a_package_is_made_without_a_question(oneclaw, place):
    done = oneclaw("plugins", "new", "Acme_Tables")

    assert done.status == 0, done.stderr
    folder = place / "acme-tables"
    assert "made acme-tables: the plugin acme_tables with two tools" in done.stdout
    assert "cd acme-tables" in done.stdout
    assert (folder / "acme_tables" / "__init__.py").is_file()
    assert "The authors of acme-tables" in (folder / "LICENSE").read_text()
    assert list(place.iterdir()) == [folder]


def test_everything_can_be_said(oneclaw, place):
    done = oneclaw(
        "plugins", "new", "acme", "--directory", "a/b c", "--author", "Ada", "--description", "What Acme does."
    )

    assert done.status == 0, done.stderr
    assert "cd 'a/b c/acme'" in done.stdout
    folder = place / "a" / "b c" / "acme"
    assert "(c) " in (folder / "LICENSE").read_text()
    assert "Ada" in (folder / "LICENSE").read_text()
    assert 'description = "What Acme does."' in (folder / "pyproject.toml").read_text()


@pytest.mark.needs("git")
def test_the_author_is_whom_git_knows(oneclaw, place, monkeypatch):
    config = place / "gitconfig"
    config.write_text("[user]\n\tname = Grace Example\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    assert oneclaw("plugins", "new", "acme").status == 0
    assert "Grace Example" in (place / "acme" / "LICENSE").read_text()


def test_without_git(oneclaw, place, monkeypatch):
    monkeypatch.setenv("PATH", str(place))

    assert oneclaw("plugins", "new", "acme").status == 0
    assert "The authors of acme" in (place / "acme" / "LICENSE").read_text()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a b", "not a valid name for a plugin's package"),
        ("../evil", "not a valid name for a plugin's package"),
        ("class", "word of the Python language"),
        ("json", "module of Python's own"),
        ("builtin", "another meaning here"),
        ("pytest", "a module 'pytest' is installed"),
    ],
)
def test_a_name_that_cannot_be_makes_nothing(oneclaw, place, name, why):
    done = oneclaw("plugins", "new", name)

    assert done.status == 2
    assert why in done.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_exists_is_left_alone(oneclaw, place, kind):
    path = place / "acme"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(place / "nowhere")

    done = oneclaw("plugins", "new", "acme")

    assert done.status == 2
    assert "there is acme already" in done.stderr
    assert list(place.iterdir()) == [path]


def test_a_place_that_cannot_be_written(oneclaw, place):
    (place / "file").write_text("in the way")

    done = oneclaw("plugins", "new", "acme", "--directory", "file")

    assert done.status == 1
    assert "cannot be written" in done.stderr
    assert "--directory" in done.stderr


@pytest.mark.parametrize("option", ["--author", "--description"])
def test_a_text_that_cannot_be_written(oneclaw, place, option):
    done = oneclaw("plugins", "new", "acme", option, "two\nlines")

    assert done.status == 2
    assert "must be a line" in done.stderr
    assert list(place.iterdir()) == []
