"""The Sphinx configuration of the documentation: `tox -e docs`, or `sphinx-build -W --keep-going docs build/docs`."""

import gc
import os
import sys
import tempfile
from pathlib import Path

# The trees of the pages stay to the end: looking for garbage in them takes seconds.
gc.disable()

# The reference must not depend on the machine that builds it.
os.environ.update(ONECLAW_HOME=tempfile.mkdtemp(prefix="oneclaw-docs-"), COLUMNS="100")
for _name in [name for name in os.environ if name.startswith("ONECLAW_") and name != "ONECLAW_HOME"]:
    del os.environ[_name]

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import oneclaw_core  # noqa: E402  # after the environment is set

project = "OneClaw"
author = "The OneClaw developers"
copyright = author  # noqa: A001  # the name that Sphinx looks for
version = release = oneclaw_core.__version__

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "outside_pages",
    "contents_page",
    "docstrings",
    "generated_parts",
    "quick_references",
]
exclude_patterns = ["_*", "api"]  # the reference of the site has the same
source_suffix = {".md": "markdown"}
smartquotes_action = "D"  # dashes between what parameters are called and what they are

myst_heading_anchors = 6

copybutton_prompt_text = "$ "

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
napoleon_numpy_docstring = False
# Attributes of dataclasses are listed once, with what their docstring says of them.
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"OneClaw {release}"
html_static_path = ["_static"]
html_css_files = ["oneclaw.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
pygments_style = "friendly"
pygments_dark_style = "native"
