"""The files that people and services expect in a repository: workflows, changelog, links."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORM = ".github/ISSUE_TEMPLATE/bug.yml"


def hook(name):
    """The command and the files of a hook in .pre-commit-config.yaml."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    (found,) = (one for one in config["repos"][0]["hooks"] if one["id"] == name)
    wanted, unwanted = re.compile(found["files"]), re.compile(found.get("exclude", "^$"))
    names = [path.relative_to(ROOT).as_posix() for path in ROOT.glob(".github/**/*.yml")]
    names = [name for name in [*names, "action.yml"] if wanted.search(name)]
    return found["entry"].split(), [name for name in names if not unwanted.search(name)]


def accepts(command, *paths):
    done = subprocess.run(
        [*command, *paths], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "path", "old", "new"),
    [
        ("workflows", ".github/workflows/tests.yml", "runs-on:", "run-on:"),
        ("action", "action.yml", "using: composite", "using: shell"),
        ("issue-forms", FORM, "type: textarea", "type: text"),
        ("issue-config", ".github/ISSUE_TEMPLATE/config.yml", "true", "maybe"),
        ("zizmor", "action.yml", '"$GITHUB_ACTION_PATH/hooks', '"${{ inputs.paths }}/hooks'),
    ],
)
def test_the_hooks_find_what_is_wrong(name, path, old, new, tmp_path):
    command, paths = hook(name)
    assert path in paths
    text = (ROOT / path).read_text("utf-8")
    assert old in text
    wrong = tmp_path / Path(path).name
    wrong.write_text(text.replace(old, new), "utf-8")
    accepted, output = accepts(command, wrong)
    assert not accepted, output


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_needs(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"]
        for step in job["steps"]:
            assert re.fullmatch(r"[\w/-]+@(release/)?v\d+", step.get("uses", "a/b@v1"))
            if "actions/checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_the_workflows_test_the_pythons_and_torches_of_the_package():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    matrix = tests["jobs"]["tests"]["strategy"]["matrix"]["include"]
    oldest = re.search(r'requires-python = ">=(.+)"', project)[1]
    assert oldest in {one["python"] for one in matrix}
    torch = re.search(r'torch = \["torch>=(.+)"\]', project)[1]
    assert {one["torch"] for one in matrix} == {"torch", f"torch=={torch}.*"}
    assert {one["os"].partition("-")[0] for one in matrix} == {"ubuntu", "macos", "windows"}
    named = set(re.findall(r'"Programming Language :: Python :: ([\d.]+)"', project))
    assert named == {one["python"] for one in matrix}


# --- the changelog ----------------------------------------------------------------------------


def sections():
    """The headings of the changelog's versions, each with its text."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_changelog_goes_back_in_time_from_what_is_unreleased_and_sorts_changes():
    first, *released = sections()
    assert first == "[Unreleased]"
    dates = []
    for heading in released:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)
        version, _, date = heading.partition(" - ")
        dates.append((date, [int(number) for number in version[1:-1].split(".")]))
    assert all(newer >= older for newer, older in pairwise(dates))
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for version, text in sections().items():
        headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
        assert set(headings) <= kinds, version
        assert len(headings) == len(set(headings)), version


def release_step(name, tag, cwd):
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    steps = release["jobs"]["build"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("name") == name)
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.skipif(not shutil.which("awk"), reason="there is no awk")
def test_a_release_takes_its_notes_from_the_changelog(tmp_path):
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)

    def notes(tag):
        return release_step("the notes of this version", tag, tmp_path)

    assert notes("v0.1.0").returncode == 0
    text = (tmp_path / "notes.md").read_text("utf-8").strip()
    assert text == sections()["[0.1.0] - 2026-11-22"].strip()
    refused = notes("v99.0.0")
    assert (refused.returncode, refused.stdout) == (1, "CHANGELOG.md has no notes for v99.0.0\n")


def test_the_documentation_names_the_version_that_comes_next():
    """Or the last one, until the first commit after it."""
    (named,) = set(re.findall(r"\b(?:rev: |nparam-lint@)(v[\d.]+)", all_pages()))
    configured = (ROOT / "pyproject.toml").read_text("utf-8")
    next_one = re.search(r'fallback-version = "([\d.]+)\.dev0"', configured)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = re.search(r"^## \[([\d.]+)\]", changes, re.MULTILINE)
    assert named in {f"v{next_one[1]}", f"v{released[1]}"}
    assert release_step("the documentation names this version", named, ROOT).returncode == 0
    refused = release_step("the documentation names this version", "v99.0.0", ROOT)
    assert (refused.returncode, refused.stdout.splitlines()[-1]) == (1, "these are not v99.0.0")


def all_pages():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return "\n".join(page.read_text("utf-8") for page in pages)


# --- links ------------------------------------------------------------------------------------


def slugs(page):
    """The anchors of a page's headings, as GitHub makes them."""
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    headings = (
        "".join(piece.content for piece in after.children)
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8")):
        for piece in token.children or ():
            target = piece.attrGet("href") or piece.attrGet("src")
            if target and not re.match(r"\w+:", target):
                yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings_that_are_there(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in slugs(target), link


def test_links_are_found():
    assert "docs/extend.md#add-a-rule" in list(links(ROOT / "CONTRIBUTING.md"))
    assert "docs/images/failing-commit.svg" in list(links(ROOT / "README.md"))


@pytest.mark.parametrize("page", ["README.md", "docs/adopt.md"])
def test_the_hooks_in_the_documentation_are_there(page):
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.M | re.S)
    configs = (yaml.safe_load(block) for block in blocks if re.search(r"^repos:$", block, re.M))
    repos = [repo for config in configs for repo in config["repos"]]
    named = {hook["id"] for repo in repos for hook in repo["hooks"]}
    assert named
    assert named <= {hook["id"] for hook in offered}


def test_the_conda_recipe_says_what_the_package_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    recipe = yaml.safe_load((ROOT / "packaging/recipe.yaml").read_text("utf-8"))
    about, run = project["project"], recipe["requirements"]["run"]
    declared = {re.sub(r"[; ].*", "", needed) for needed in about["dependencies"]}
    assert {needed.replace(" ", "") for needed in run[1:]} == declared
    assert f">={recipe['context']['python_min']}" == about["requires-python"]
    built_with = {re.split(">=", needed)[0] for needed in project["build-system"]["requires"]}
    assert {*recipe["requirements"]["host"][1:]} == {"pip", *built_with}
    commands = [f"{name} = {place}" for name, place in about["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert (recipe["about"]["license"], recipe["about"]["license_file"]) == (
        re.sub(" *#.*", "", about["license"]),
        about["license-files"],
    )
    assert recipe["source"]["url"].startswith(about["urls"]["Repository"])


def test_the_catalog_of_schemas_gets_the_place_that_the_schema_has():
    entry = json.loads((ROOT / "packaging/schemastore.json").read_text("utf-8"))
    schema = json.loads((ROOT / "docs/schemas/config.json").read_text("utf-8"))
    assert entry["url"] == schema["$id"]
    assert "draft-07" in schema["$schema"]  # the newest that all editors read


def test_the_guide_names_every_folder_of_the_package():
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    folders = {path.parent.name for path in ROOT.glob("nparam_lint/*/__init__.py")}
    assert folders == set(re.findall(r"^\| `(\w+)/` \|", guide, re.MULTILINE))


def test_what_the_design_names_of_the_code_is_there():
    code = [path for ending in ("py", "js", "toml") for path in ROOT.rglob(f"*.{ending}")]
    words = {word for path in code for word in re.findall(r"\w+", path.read_text("utf-8"))}
    words |= {word for path in ROOT.rglob("*") for word in re.findall(r"\w+", path.name)}
    names = re.findall(r"`([A-Za-z_][\w./]*)`", (ROOT / "docs/design.md").read_text("utf-8"))
    assert [name for name in names if not words.issuperset(re.findall(r"\w+", name))] == []


# --- the place of the repository --------------------------------------------------------------

PLACE = re.compile(
    r"github(?:usercontent)?\.com/([\w.-]+/nparam-lint)\b|\b([\w.-]+)\.github\.io/nparam-lint\b"
    r"|uses: ([\w.-]+/nparam-lint)@"
)
NAMING = "*.md *.toml *.yml *.json *.py *.svg .pre-commit-*.yaml"
FOLDERS = ("nparam_lint", "docs", "editors", "examples", "hooks", "packaging", ".github")


def places(root):
    """Each mention of a repository that is called nparam-lint, with its file."""
    for pattern in NAMING.split():
        files = [*root.glob(pattern), *(f for one in FOLDERS for f in (root / one).rglob(pattern))]
        for path in files:
            if "node_modules" not in path.parts:
                for match in PLACE.finditer(path.read_text("utf-8")):
                    name = match[2] and f"{match[2]}/nparam-lint"
                    yield path.relative_to(root).as_posix(), name or match[1] or match[3]


def test_all_that_names_the_place_of_the_repository_agrees():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    place = project["urls"]["Repository"].removeprefix("https://github.com/")
    mentions = set(places(ROOT))
    assert {name for _, name in mentions} == {place}
    assert {
        "README.md",
        "docs/adopt.md",
        "docs/ci.md",
        "editors/vscode/package.json",
        "nparam_lint/cli/hook_managers.py",
        "nparam_lint/report/formats/sarif.py",
        "pyproject.toml",
    } <= {path for path, _ in mentions}


@pytest.mark.skipif(not shutil.which("perl"), reason="there is no perl")
def test_one_command_moves_the_repository(tmp_path):
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (command,) = re.findall(r"^    (git grep .*)$", guide, re.MULTILINE)
    for path, _ in set(places(ROOT)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    before = sorted(places(tmp_path))
    for line in ("git init -q", "git add .", f"bash -c {shlex.quote(command)}"):
        subprocess.run(shlex.split(line), cwd=tmp_path, check=True)
    assert sorted(places(tmp_path)) == [(path, "NEW/nparam-lint") for path, _ in before]
