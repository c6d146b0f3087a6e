"""What can be asked for, and what looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installations import write_wheel
from oneclaw_devtools.installing.requirement import parse_requirement, without_credentials

from oneclaw_core import UsageError, redact


@pytest.mark.parametrize(
    ("text", "name", "is_direct"),
    [
        ("oneclaw-pdf", "oneclaw-pdf", False),
        (" OneClaw_Pdf>=0.1,<2 ", "oneclaw-pdf", False),
        ("acme[fast]~=1.0; python_version >= '3.11'", "acme", False),
        ("acme @ https://example.com/acme-1.0.tar.gz", "acme", True),
        ("acme @ git+ssh://git@example.com/acme.git@v1.0#subdirectory=x", "acme", True),
    ],
)
def test_names_and_urls(text, name, is_direct):
    parsed = parse_requirement(text)
    assert (parsed.text, parsed.specifier) == (text.strip(), text.strip())
    assert (parsed.name, parsed.is_direct) == (name, is_direct)


def test_a_url_needs_the_name_of_its_package():
    url = "https://somebody:a-password@example.com/acme-1.0.zip"
    with pytest.raises(UsageError, match=r"'NAME @ https://example.com/acme-1.0.zip'"):
        parse_requirement(url)


def test_paths_become_absolute(tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path / "my wheels", "acme-tools")
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "Acme.Project"\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for text in ("my wheels/acme_tools-1.0-py3-none-any.whl", "./my wheels/../my wheels/" + wheel.name, str(wheel)):
        parsed = parse_requirement(text)
        assert (parsed.text, parsed.specifier) == (str(wheel), f"acme-tools @ {wheel.as_uri()}")
    for text in ("./project", "project/", "~/project", str(project)):
        parsed = parse_requirement(text)
        assert (parsed.text, parsed.specifier) == (str(project), f"acme-project @ {project.as_uri()}")


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "-r requirements.txt", "--index-url=https://example.com", "-e .", "-",
        "acme --index-url=https://example.com", "acme\n--pre", "acme\x1b[2J", "acme beta", "acme>=", "acme;", "@",
        "a" * 3000,
        "oneclaw-core", "oneclaw_core[browser]>=9", "OneClaw.Core @ https://example.com/x.whl",
        "./nothing", "../../nothing.whl", "nothing-1.0-py3-none-any.whl", ".", "~nobody-of-that-name/x", "./a\0b",
        "https://[broken/x.whl", "empty-folder/", "notes.txt/", "./notes.txt", "strange.whl",
    ],
)  # fmt: skip
def test_what_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "strange.whl").touch()
    with pytest.raises(UsageError) as caught:
        parse_requirement(text)
    assert "\n" not in str(caught.value)


def test_a_wheel_of_the_core_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is OneClaw itself"):
        parse_requirement(str(write_wheel(tmp_path, "oneclaw-core")))


@pytest.mark.long
@given(st.text(max_size=30))
def test_nothing_that_is_taken_can_be_an_option(text):
    try:
        parsed = parse_requirement(text)
    except UsageError:
        return
    assert not parsed.text.startswith("-")
    assert parsed.text.isprintable()


def test_credentials_are_neither_shown_nor_logged():
    parsed = parse_requirement("acme @ https://somebody:the-password@example.com/acme.whl")
    assert without_credentials(parsed.text) == "acme @ https://example.com/acme.whl"
    assert "the-password" not in redact("pip says: the-password")
