from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pytest
from how_long import some
from oneclaw_pdf import rendering
from oneclaw_pdf.tools import pdf_render_page
from pdf_files import make_pdf, one_page
from PIL import Image

pytestmark = pytest.mark.lowest_versions


@pytest.fixture
def report(project):
    return make_pdf(project / "report.pdf", ["One", "Two"], size=(360, 720))


def image_of(result) -> Path:
    assert result.is_success, result.error_message
    return Path(result.result.splitlines()[0].removeprefix("Image: "))


def test_pdf_render_page_writes_a_png_file_into_the_workspace(context, workspace, report):
    result = pdf_render_page("report.pdf", 2, context=context)

    path = workspace / "pdf-renders" / "report-page2-150dpi.png"
    assert result.result == f"Image: {path}\nSize: 750 x 1500 pixels\nDPI: 150\nBytes: {path.stat().st_size}"
    with Image.open(path) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (750, 1500))
        assert round(image.info["dpi"][0]) == 150
        assert image.getpixel((0, 0)) == (255, 255, 255)
        assert image.convert("L").getextrema()[0] < 100  # there is ink
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_model_is_shown_the_page(context, workspace, report):
    (shown,) = pdf_render_page("report.pdf", 1, 72, context=context).attachments

    assert (shown.name, shown.media_type) == ("report-page1-72dpi.png", "image/png")
    assert shown.data == (workspace / "pdf-renders" / shown.name).read_bytes()


@pytest.mark.long
def test_what_the_model_is_shown_stays_within_the_limits_of_services(context, report, monkeypatch):
    (shown,) = pdf_render_page("report.pdf", 1, 300, context=context).attachments
    monkeypatch.setattr(rendering, "MAX_SHOWN_BYTES", 100)
    (photograph,) = pdf_render_page("report.pdf", 1, 300, context=context).attachments

    assert Image.open(io.BytesIO(shown.data)).size == (784, 1568)
    assert (photograph.name, photograph.media_type) == ("report-page1-300dpi.jpg", "image/jpeg")
    assert Image.open(io.BytesIO(photograph.data)).format == "JPEG"


@pytest.mark.parametrize("page", [0, 3, -1, 10**12])
def test_a_page_that_is_not_there(context, workspace, report, page):
    result = pdf_render_page("report.pdf", page, context=context)

    assert result.error_type == "invalid_page"
    assert "has 2 pages" in result.error_message
    assert not list(workspace.iterdir())


@pytest.mark.parametrize(("asked", "used"), some([(72, 72), (300, 300), (10, 72), (1200, 300), (-5, 72)], 2))
def test_the_resolution_is_taken_into_the_possible_range(context, report, asked, used):
    lines = pdf_render_page("report.pdf", 1, asked, context=context).result.splitlines()

    note = "" if asked == used else f" ({asked} was asked for; possible are 72 to 300)"
    assert lines[1:3] == [f"Size: {5 * used} x {10 * used} pixels", f"DPI: {used}{note}"]


def test_each_page_and_resolution_has_its_file(context, report):
    paths = {image_of(pdf_render_page("report.pdf", page, dpi, context=context)) for page in (1, 2) for dpi in (72, 80)}

    assert len(paths) == 4


def test_rendering_again_replaces_the_picture(context, project, report):
    first = image_of(pdf_render_page("report.pdf", 1, 72, context=context))
    make_pdf(project / "report.pdf", ["Changed"], size=(100, 100))
    second = image_of(pdf_render_page("report.pdf", 1, 72, context=context))

    assert first == second
    with Image.open(second) as image:
        assert image.size == (100, 100)


def test_documents_of_the_same_name_do_not_overwrite_each_other(context, project, report):
    (project / "other").mkdir()
    make_pdf(project / "other" / "report.pdf", size=(100, 100))

    first = image_of(pdf_render_page("report.pdf", 1, 72, context=context))
    other = image_of(pdf_render_page("other/report.pdf", 1, 72, context=context))
    other_again = image_of(pdf_render_page("other/report.pdf", 1, 72, context=context))

    assert first.name == "report-page1-72dpi.png"
    assert other == other_again != first
    with Image.open(first) as first_image, Image.open(other) as other_image:
        assert (first_image.size, other_image.size) == ((360, 720), (100, 100))


def test_a_file_of_the_users_is_not_overwritten(context, workspace, report):
    mine = workspace / "pdf-renders" / "report-page1-72dpi.png"
    mine.parent.mkdir()
    mine.write_text("mine")

    assert image_of(pdf_render_page("report.pdf", 1, 72, context=context)) != mine
    assert mine.read_text() == "mine"


def test_a_name_is_claimed_once(context, workspace):
    path = workspace / "a.png"
    start = threading.Barrier(8)
    claims = []

    def claim(source: str) -> None:
        start.wait()
        claims.append(rendering._claim(path, source))

    threads = [threading.Thread(target=claim, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(claims) == [False] * 7 + [True]


@pytest.mark.parametrize("name", ["\u65e5" * 80 + ".pdf", "a\nb.pdf", "..pdf", "no extension"])
def test_any_file_name_makes_a_possible_one(context, project, workspace, name):
    make_pdf(project / name, size=(100, 100))

    assert pdf_render_page(name, 1, context=context).is_success
    (path,) = (workspace / "pdf-renders").iterdir()
    assert path.suffix == ".png"
    assert path.name.isprintable()


@pytest.mark.parametrize(
    "box", [b"[0 0 14400 14400]", b"[0 0 200000 10]", b"[0 0 10 200000]", b"[-20000 -20000 20000 20000]"]
)
def test_a_very_large_page_is_rendered_at_a_lower_resolution(context, project, monkeypatch, box):
    monkeypatch.setattr(rendering, "MAX_PIXELS", 1_000_000)
    monkeypatch.setattr(rendering, "MAX_SIDE_PIXELS", 5_000)
    one_page(project / "large.pdf", page=b"/MediaBox " + box)

    result = pdf_render_page("large.pdf", 1, 300, context=context)

    assert "(300 was asked for; lowered because the page is very large)" in result.result
    with Image.open(image_of(result)) as image:
        assert image.width * image.height < 1_010_000
        assert max(image.size) <= 5_000


def test_a_page_that_is_too_large_at_any_resolution(context, project):
    one_page(project / "vast.pdf", page=b"/MediaBox [0 0 2000000000 2000000000]")

    result = pdf_render_page("vast.pdf", 1, context=context)

    assert result.error_type == "pdf_error"
    assert "too large to be rendered" in result.error_message


@pytest.mark.parametrize("box", some([b"[0 0 0 0]", b"[5 5 5 5]", b"[0 0 0.001 0.001]", b"[0 0 -9 -9]", b"(none)"], 3))
def test_a_page_without_a_size(context, project, box):
    one_page(project / "odd.pdf", page=b"/MediaBox " + box)

    result = pdf_render_page("odd.pdf", 1, context=context)

    assert result.is_success or result.error_type == "pdf_error"


def test_a_workspace_that_cannot_be_written(context, workspace, report):
    (workspace / "pdf-renders").write_text("in the way")

    result = pdf_render_page("report.pdf", 1, context=context)

    assert result.error_type == "execution_error"
    assert result.error_message == "The image cannot be written: File exists"


def test_an_encrypted_file(context, project):
    make_pdf(project / "secret.pdf", password="sesame")

    assert pdf_render_page("secret.pdf", 1, context=context).error_type == "password_required"
    assert pdf_render_page("secret.pdf", 1, 72, "sesame", context=context).is_success


def test_nothing_stays_open(context, project, report):
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list open files in /proc")
    (project / "bad.pdf").write_bytes(b"%PDF-1.7")
    os.mkfifo(project / "pipe.pdf")
    pdf_render_page("report.pdf", 1, 72, context=context)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("report.pdf", "bad.pdf", "pipe.pdf", "missing.pdf"):
        pdf_render_page(name, 1, 72, context=context)
        pdf_render_page(name, 9, 72, context=context)

    assert len(list(Path("/proc/self/fd").iterdir())) == before
