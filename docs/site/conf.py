"""Configuration of Sphinx for the site; build.py runs it."""

from __future__ import annotations

import posixpath
import re
from typing import Any

import farroot
import reference
from docutils.nodes import Element
from farroot._uproot import HELPERS
from sphinx.addnodes import desc_signature
from sphinx.application import Sphinx
from sphinx.ext.napoleon import GoogleDocstring

#: Address of files outside of docs/, which are not on the site.
REPOSITORY = "https://github.com/farroot/farroot/blob/main"

project = "farroot"
version = release = farroot.__version__
author = project_copyright = "The farroot developers"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "farroot"
html_copy_source = False
html_show_copyright = False
#: Neither the build nor a browser fetches anything from other sites.
nb_ipywidgets_js: dict[str, Any] = {}

# The same anchors as on GitHub, which the crate tidy tests.
myst_heading_anchors = 4

nb_execution_mode = "force"
nb_execution_raise_on_error = True
# The notebooks take seconds; a busy machine may take longer.
nb_execution_timeout = 300
# Joins the pieces of standard output and standard error, such as those of progress bars.
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Keys", "params_style")]

nitpicky = True
#: Names of other packages, and modules of farroot, have no page here.
_OTHERS = "awkward|builtins|collections|concurrent|dask|fsspec|hist|numpy|pandas|pyarrow|uproot"
nitpick_ignore_regex = [("py:.*", rf"({_OTHERS})\..*"), ("py:mod", r"farroot\..*")]


def _as_on_the_site(app: Sphinx, docname: str, content: list[str]) -> None:
    """Turns links out of docs/ to the repository, and names languages as the highlighter does."""
    folder = posixpath.dirname(f"docs/{docname}")

    def led(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[1]))
        return found[0] if path.startswith("docs/") else f"]({REPOSITORY}/{path}"

    content[0] = re.sub(r"\]\(((?:\.\./)+[^)#\s]+)", led, content[0])
    # Links whose text is the name of a file show the title of the page.
    content[0] = re.sub(r"\[[\w-]+\.md\](?=\((?!https))", "[]", content[0])
    # rustdoc compiles blocks with `no_run` without running them; the highlighter knows `rust`.
    content[0] = content[0].replace("```rust,no_run", "```rust")


def _without_maker(
    app: Sphinx, what: str, name: str, one: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Shows the arguments of a class only if programs call the class."""
    is_called = what != "class" or name.removeprefix("farroot.") in reference.CALLED
    return None if is_called or not signature else ("", returns)


def _without_helpers(
    app: Sphinx, what: str, name: str, one: Any, is_skipped: bool, options: Any
) -> bool | None:
    """Leaves out methods that only farroot itself calls."""
    return True if name in HELPERS or name in ("all_of", "of", "read_from") else None


def _without_page(app: Sphinx, env: Any, node: Element, text: Element) -> Element | None:
    """Shows types without a page as text, in signatures; elsewhere they are an error."""
    above = node.parent
    while above is not None and not isinstance(above, desc_signature):
        above = above.parent
    return None if above is None else text


def _sections(self: GoogleDocstring) -> list[str]:
    """Parses docstrings of properties like those of methods: with "Raises", and colons as text."""
    self._what = "method"
    self._parse()
    return []


GoogleDocstring._parse_attribute_docstring = _sections


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("missing-reference", _without_page)
    app.connect("source-read", _as_on_the_site)
    app.connect("autodoc-process-signature", _without_maker)
    app.connect("autodoc-skip-member", _without_helpers)
