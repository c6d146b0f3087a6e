"""Pages that lie elsewhere in the repository become part of the site, such as READMEs of plugins and the changes.

Links between pages are written so that they work in the repository. So before each build, the pages outside of `docs/`
are copied to `docs/repository/`, under the paths that they have in the repository, and links that lead from one side to
the other are turned to where the page is.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
COPIES = "repository"
_LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?=[#)])")


def outside_pages(root: Path = ROOT) -> list[str]:
    """Name the pages that lie outside of ``docs/``, by their paths in the repository."""
    names = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    plugins = [
        each for pattern in ("plugins", "examples/plugins") for each in sorted(root.glob(f"{pattern}/*/README.md"))
    ]
    found = [*(root / name for name in names), *plugins]
    return [path.relative_to(root).as_posix() for path in found if path.is_file()]


def turned_links(text: str, docname: str, pages: list[str]) -> str:
    """Turn the links of a page from where a page lies in the repository to where it lies in the site.

    Args:
        text: of the page, in Markdown.
        docname: the page's name in the site.
        pages: what :func:`outside_pages` gives.
    """
    is_copy = docname.startswith(f"{COPIES}/")
    here = PurePosixPath(docname).parent
    # Where the page lies in the repository.
    origin = here.relative_to(COPIES) if is_copy else PurePosixPath("docs") / here

    def turned(match: re.Match[str]) -> str:
        target = os.path.normpath(origin / match["path"])
        if target in pages:
            place = f"{COPIES}/{target}"
        elif target.startswith("docs/"):
            place = target.removeprefix("docs/")
        else:
            place = f"../{target}"
        # Below a root, so that the current directory does not count.
        return os.path.relpath(f"/docs/{place}", f"/docs/{here}")

    return _LINK.sub(turned, text)


def _copy_pages(app: Sphinx, _config: Config) -> None:
    copies = DOCS / COPIES
    for old in sorted(copies.rglob("*.md")) if copies.is_dir() else ():
        if old.relative_to(copies).as_posix() not in outside_pages():
            old.unlink()
    for page in outside_pages():
        target = copies / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != (ROOT / page).read_bytes():
            shutil.copyfile(ROOT / page, target)


def _turn_links(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = turned_links(source[0], docname, outside_pages())
    if docname.startswith(f"{COPIES}/"):
        # It may be linked to from pages only, not from the contents.
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("config-inited", _copy_pages)
    app.connect("source-read", _turn_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
