"""Sphinx: how the pages of this folder become a site (`tox -e docs`)."""

project = "pytest-roofline"
extensions = ["myst_nb"]
nitpicky = True

html_theme = "furo"
html_title = "pytest-roofline"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False

# Links to headings are GitHub's: the same files are read there.
myst_heading_anchors = 3
# Notebooks are stored without outputs, and run where the site is made.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120  # seconds of a cell: the first one imports pandas and matplotlib
