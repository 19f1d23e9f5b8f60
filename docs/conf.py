"""How Sphinx builds these pages (`make docs`): Markdown by MyST, and furo as the theme, which loads no other host."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tb_steptime import __version__  # noqa: E402 - the checkout, whatever is installed

project = "Step Insights for TensorBoard"
author = "The tb-steptime developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "tools.docs.extension"]
exclude_patterns = ["_build"]
root_doc = "index"
nitpicky = True

#: Links to headings down to the third level, as GitHub has them.
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence"]

html_theme = "furo"
html_title = "Step Insights"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["style"]
html_css_files = ["pages.css"]
