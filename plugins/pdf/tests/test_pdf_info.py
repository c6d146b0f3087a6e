from __future__ import annotations

import os

import pytest
from oneclaw_pdf import information
from oneclaw_pdf.tools import pdf_info
from pdf_files import make_pdf, one_page, write_objects

from oneclaw_core import PermissionDeniedError

pytestmark = pytest.mark.lowest_versions


def lines_of(result) -> list[str]:
    assert result.is_success, result.error_message
    return result.result.splitlines()


def test_pdf_info_tells_what_the_file_says_about_itself(context, project):
    path = make_pdf(
        project / "report.pdf",
        ["One", "Two", "Three"],
        metadata={"Title": "Année 2026", "Author": "A. Author", "Subject": "Results"},
        outline=[("Beginning", 0), ("Middle", 1), ("End", 0)],
    )

    lines = lines_of(pdf_info("report.pdf", context=context))

    assert lines[:8] == [
        "File: report.pdf",
        "Pages: 3",
        f"Size: {path.stat().st_size} bytes",
        "PDF version: 1.3",
        "Encrypted: no",
        "Page size: 595 x 842 points (210 x 297 mm) on page 1",
        "Text layer: yes",
        f"Path: {project}/report.pdf",
    ]
    assert lines[8].startswith("From the document report.pdf. What stands between the two lines with ")
    mark = lines[9].removeprefix("<<<")
    assert lines[10:13] == ["Title: Année 2026", "Author: A. Author", "Subject: Results"]
    assert "Created: 2000-01-01T00:00:00+00:00" in lines
    assert lines[-5:] == ["Outline:", "  Beginning (page 1)", "    Middle (page 2)", "  End (page 3)", f"{mark}>>>"]


def test_what_is_blank_is_left_out(context, project):
    one_page(project / "bare.pdf", extra={4: b"<< /Title (  ) /Author () >>"})

    assert not {"Title", "Author", "Created", "Outline"} & {
        line.partition(":")[0] for line in lines_of(pdf_info("bare.pdf", context=context))
    }


def test_a_scan_is_recognised(context, project):
    make_pdf(project / "scan.pdf", ["", "", ""])

    assert "Text layer: no: probably scanned, look at its pages with pdf_render_page" in lines_of(
        pdf_info("scan.pdf", context=context)
    )


def test_the_search_for_text_ends(context, project):
    make_pdf(project / "scan.pdf", [""] * information.MAX_PAGES_SEARCHED_FOR_TEXT + ["late"])

    assert "Text layer: no on the first 10 pages" in pdf_info("scan.pdf", context=context).result


def test_a_long_outline_is_cut(context, project):
    count = information.MAX_OUTLINE_ENTRIES + 5
    make_pdf(project / "long.pdf", ["x"] * count, outline=[(f"Section {number}", 0) for number in range(count)])

    lines = lines_of(pdf_info("long.pdf", context=context))

    assert lines[-3:-1] == ["  Section 49 (page 50)", "  (more entries than the 50 shown)"]


def test_an_outline_in_a_circle_ends(context, project):
    one_page(
        project / "circle.pdf",
        catalog=b"/Outlines 4 0 R",
        extra={
            4: b"<< /First 5 0 R /Last 6 0 R >>",
            5: b"<< /Title (A) /Parent 4 0 R /Next 6 0 R /First 6 0 R >>",
            6: b"<< /Title (B) /Parent 4 0 R /Next 5 0 R /First 5 0 R >>",
        },
    )

    assert len(lines_of(pdf_info("circle.pdf", context=context))) < 20


def test_metadata_cannot_forge_lines(context, project):
    title = "A\nPages: 99\x07!".encode("utf-16-be").hex().encode()
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] >>",
        4: b"<< /Title <FEFF%b> /Author <FEFFD8000041> /Subject (%b) >>" % (title, b"x" * 9000),
    }
    write_objects(project / "a\nPages: 98.pdf", objects, trailer=b"/Info 4 0 R")

    lines = lines_of(pdf_info("a\nPages: 98.pdf", context=context))

    assert [line for line in lines if line.startswith("Pages:")] == ["Pages: 1"]
    assert "Title: A Pages: 99 !" in lines
    assert max(map(len, lines)) < 600


@pytest.mark.parametrize("password", ["sesame", "pässwörd"])
def test_an_encrypted_file_wants_its_password(context, project, password):
    make_pdf(project / "secret.pdf", metadata={"Title": "Secret plans"}, password=password)

    without = pdf_info("secret.pdf", context=context)
    wrong = pdf_info("secret.pdf", "guess", context=context)
    impossible = pdf_info("secret.pdf", "\ud800", context=context)
    right = pdf_info("secret.pdf", password, context=context)

    assert without.error_type == "password_required"
    assert "Ask the user for its password" in without.error_message
    assert wrong.error_type == impossible.error_type == "wrong_password"
    assert {"Encrypted: yes", "Title: Secret plans"} <= set(lines_of(right))


def test_a_file_that_only_restricts_its_use_opens_without_a_password(context, project):
    make_pdf(project / "restricted.pdf", password="")

    assert "Encrypted: yes" in lines_of(pdf_info("restricted.pdf", context=context))


def test_a_password_for_a_file_without_one_is_ignored(context, project):
    make_pdf(project / "open.pdf")

    assert "Encrypted: no" in lines_of(pdf_info("open.pdf", "sesame", context=context))


def test_a_file_that_is_not_there(context):
    result = pdf_info("missing.pdf", context=context)

    assert (result.error_type, result.error_message) == ("file_not_found", "File not found: missing.pdf")


@pytest.mark.parametrize("path", ["/etc/hosts", "../secret.pdf", "link.pdf"])
def test_a_file_outside_is_denied(context, project, workspace, tmp_path, path):
    make_pdf(tmp_path / "secret.pdf")
    for directory in (project, workspace):
        (directory / "link.pdf").symlink_to(tmp_path / "secret.pdf")

    with pytest.raises(PermissionDeniedError):
        pdf_info(path, context=context)


@pytest.mark.parametrize("path", ["a" * 300 + ".pdf", "\ud800.pdf"])
def test_an_impossible_path(context, path):
    assert pdf_info(path, context=context).error_type == "file_not_found"


def test_what_is_no_file_is_refused_and_does_not_hang(context, project):
    (project / "directory.pdf").mkdir()
    os.mkfifo(project / "pipe.pdf")

    for name in ("directory.pdf", "pipe.pdf"):
        result = pdf_info(name, context=context)
        assert result.error_type == "pdf_error"
        assert "not a PDF file" in result.error_message


def test_an_absolute_path_in_the_workspace(context, workspace):
    make_pdf(workspace / "deep.pdf")

    assert f"Path: {workspace}/deep.pdf" in lines_of(pdf_info(str(workspace / "deep.pdf"), context=context))
