"""How the site is built, with the extra `docs`: ``python -m sphinx -W -b html docs docs/_build/html``."""

import logging
from pathlib import Path

import mdhnp

project = "mdhnp"
author = "mdhnp developers"
copyright = author
release = version = mdhnp.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
suppress_warnings = ["misc.highlighting_failure"]  # "…" in blocks of code, for what is left out
templates_path = ["_templates"]
nitpicky = True  # a reference to nothing is a warning
smartquotes = False

# Pages
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# API pages
autosummary_generate = [str(page) for page in Path(__file__).parent.glob("api/*.rst")]
autodoc_typehints = "none"  # the docstrings say types in words
numpydoc_show_class_members = False
default_role = "code"

# Gallery: each script is run, and shown with what it prints and draws.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [
        f"../examples/{name}" for name in ("products", "pictures", "learning", "simulations", "records", "running")
    ],
    "reference_url": {"mdhnp": None},  # names in scripts are links to their API pages
    "backreferences_dir": "gallery/backreferences",  # and API pages show what calls them
    "doc_module": ("mdhnp",),
    "show_memory": False,
}

# Other projects' pages, to which nothing is linked where they cannot be reached, as in CI.
intersphinx_mapping = {
    "numpy": ("https://numpy.org/doc/stable", None),
    "python": ("https://docs.python.org/3", None),
}
intersphinx_timeout = 5
logging.getLogger("sphinx.sphinx.ext.intersphinx").addFilter(
    lambda record: not str(record.msg).startswith("failed to reach any")
)

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "mdhnp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "mdhnp"},
    "navigation_with_keys": False,
    "show_prev_next": False,
}
