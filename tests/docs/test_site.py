"""The documentation site: it is built without a warning, and every link in it leads somewhere."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nparam_lint.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


def build(source, target, builder="dirhtml"):
    options = ("-q", "-W", "--keep-going", "-b", builder)
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, source, target],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


# At each commit, tests/test_repository_files.py follows the links.
needs_site = pytest.mark.thorough


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT / "docs", target)
    assert (done.returncode, done.stderr) == (0, "")
    return target


@needs_site
def test_every_page_is_on_the_site(site):
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {path.parent.name for path in site.glob("*/index.html")} - {
        "genindex",
        "search",
    } == names


def test_the_reading_order_names_every_page():
    named = re.findall(r"\]\((?:\.\./)?([\w-]+)\.md", (ROOT / "docs/index.md").read_text("utf-8"))
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {name.lower() for name in named} == pages


@needs_site
@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("index.html", "nparam-lint"),
        ("changelog/index.html", "The first version."),
        ("contributing/index.html", "constraints.txt"),
        ("security/index.html", "Report a vulnerability"),
    ],
)
def test_files_of_the_repository_are_pages_too(site, page, said):
    assert said in (site / page).read_text("utf-8")


@needs_site
def test_the_schemas_are_published(site):
    for path in (ROOT / "docs/schemas").iterdir():
        assert json.loads((site / "schemas" / path.name).read_text("utf-8"))["$schema"]


@pytest.mark.thorough
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path):
    for name in ("pyproject.toml", *(path.name for path in ROOT.glob("*.md"))):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs/counting.md"
    page.write_text(
        f"{page.read_text('utf-8')}\n[a](#gone) [b](api.md#gone) [c](gone.md)\n", "utf-8"
    )
    done = build(tmp_path / "docs", tmp_path / "site", "dummy")
    assert done.returncode == 1
    warnings = [line for line in done.stderr.splitlines() if "counting.md" in line]
    assert len(warnings) == 3
    assert all("[myst.xref_missing]" in line and "gone" in line for line in warnings)


def test_the_page_of_commands_is_up_to_date():
    page = (ROOT / "docs/commands.md").read_text("utf-8")
    written = runpy.run_path(str(ROOT / "docs/write_commands.py"))["page"]()
    assert page == written, "next: python docs/write_commands.py > docs/commands.md"
    for name in COMMANDS:
        assert f"\n## {name}\n" in page
