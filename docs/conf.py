"""Sphinx: how the pages of this folder become a site (`tox -e docs`)."""

project = "pytest-roofline"
extensions = ["myst_nb"]
nitpicky = True

html_theme = "furo"
html_title = "pytest-roofline"

# Links to headings are GitHub's: the same files are read there.
myst_heading_anchors = 3
# tests/test_docs.py runs the notebook; here its stored outputs are shown.
nb_execution_mode = "off"
