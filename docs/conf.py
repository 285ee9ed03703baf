"""The documentation site: `sphinx-build -W -b dirhtml docs build/site`.

The pages are Markdown that also reads on a forge, where a link is relative to its file. On the site
a link out of `docs/` leads to the page that includes the file, or to the file in the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parent
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
INCLUDED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}

project = "nparam-lint"
author = copyright = "the nparam-lint developers"
release = version_of("nparam-lint")

extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"
html_title = "nparam-lint"
html_baseurl = URLS["Documentation"]
html_show_sourcelink = False
html_theme_options = {
    "source_repository": URLS["Repository"],
    "source_branch": "main",
    "source_directory": "docs/",
}
highlight_language = "text"  # of blocks that do not say what they are
smartquotes = False  # `--declared` is two hyphens
copybutton_prompt_text = "$ "
myst_heading_anchors = 4  # as a forge makes them
nitpicky = True
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]  # which scripts make in the browser

_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s#]+)((?:#[^)\s]*)?\))")


def _links_of(text: str, folder: Path) -> str:
    """The text of a file in `folder`, with links that are right in `docs/`."""

    def moved(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[2]))
        if not target.exists():
            return match[0]  # an error, which Sphinx reports
        name = target.relative_to(ROOT).as_posix()
        if name in INCLUDED:
            place = INCLUDED[name]
        elif name.startswith("docs/schemas/"):
            place = URLS["Documentation"] + target.relative_to(HERE).as_posix()
        elif HERE in target.parents and target.is_file():
            place = target.relative_to(HERE).as_posix()
        else:
            kind = "tree" if target.is_dir() else "blob"
            place = f"{URLS['Repository']}/{kind}/main/{name}"
        return f"{match[1]}{place}{match[3]}"

    return _LINK.sub(moved, text)


def _of_a_page(_app, _name, content) -> None:
    content[0] = _links_of(content[0], HERE)


def _of_an_included_file(_app, path, _name, content) -> None:
    content[0] = _links_of(content[0], (HERE / path).resolve().parent)


def _publish_schemas(app, error) -> None:
    if error is None and app.builder.format == "html":
        shutil.copytree(HERE / "schemas", app.outdir / "schemas", dirs_exist_ok=True)


def setup(app) -> None:
    app.connect("source-read", _of_a_page)
    app.connect("include-read", _of_an_included_file)
    app.connect("build-finished", _publish_schemas)
