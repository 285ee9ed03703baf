"""The schemas: what is published is what the code makes, and agrees with what the tool accepts."""

import json
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from markdown_it import MarkdownIt
from sample_files import write_files

from nparam_lint.api.schemas import schemas, text_of
from nparam_lint.api.schemas.config_schema import config_schema, tool_schema
from nparam_lint.api.schemas.report_schemas import REPORTS
from nparam_lint.cli.main import COMMANDS, parser_of
from nparam_lint.config.load import load_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "docs/schemas"
ON_PAGES = [
    pytest.param(token.content, id=f"{page.stem}:{token.map[0] + 1}")
    for page in sorted(FOLDER.parent.glob("*.md"))
    for token in MarkdownIt().parse(page.read_text("utf-8"))
    if token.info == "toml"
]


@pytest.mark.parametrize("name", schemas())
def test_what_is_published_is_up_to_date(name):
    made = schemas()[name]()
    assert (FOLDER / f"{name}.json").read_text("utf-8") == text_of(made), (
        "next: python docs/write_schemas.py"
    )
    (Draft7Validator if name == "config" else Draft202012Validator).check_schema(made)


def test_every_command_with_a_report_has_a_schema():
    assert {path.stem for path in FOLDER.iterdir()} == {*schemas()}
    with_json = {
        name for name in COMMANDS if "json" in (parser_of(name)[1].get_default("formats") or ())
    }
    assert {*REPORTS} - with_json == {"sweep"}  # which has lines of JSON
    assert with_json <= {*REPORTS}


def test_the_command(nparam_lint, tmp_path):
    done = nparam_lint("schema", "config", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)) == (0, config_schema())
    assert nparam_lint("schema", cwd=tmp_path).stdout.splitlines()[0].startswith("config ")
    done = nparam_lint("schema", "chekc", cwd=tmp_path)
    assert (done.returncode, "did you mean check?" in done.stderr) == (2, True)


def test_each_line_of_a_sweep(nparam_lint, tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\n\nclass Net(nn.Linear):\n    pass\n")
    vary = ("--vary", "in_features=1,-2,out_features=3", "--format", "jsonl")
    done = nparam_lint("sweep", "net.py::Net(1, 1)", *vary, cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["nparam"] for row in rows] == [6, None]
    for row in rows:
        Draft202012Validator(schemas()["sweep"]()).validate(row)


# --- the config -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ON_PAGES)
def test_what_the_pages_show_is_read(tmp_path, text):
    table = tomllib.loads(text)
    Draft7Validator(config_schema()).validate(table.get("tool", {}).get("nparam-lint", table))
    name = "pyproject.toml" if "[tool." in text else "nparam-lint.toml"
    write_files(tmp_path, {name: text, "train.py": ""})
    load_settings(tmp_path, None, {}, {})


# --- validate-pyproject -----------------------------------------------------------------------


def test_the_plugin_is_announced():
    (found,) = entry_points(group="validate_pyproject.tool_schema", name="nparam-lint")
    assert found.load() is tool_schema


@pytest.mark.parametrize(
    ("text", "is_right"),
    [('device = "meta"', True), ('devise = "meta"', False), ("tolerance = 5", False)],
)
def test_validate_pyproject(text, is_right):
    api = pytest.importorskip("validate_pyproject.api")
    errors = pytest.importorskip("validate_pyproject.errors")
    plugins = pytest.importorskip("validate_pyproject.plugins")
    validator = api.Validator(plugins=[plugins.PluginWrapper("nparam-lint", tool_schema)])
    table = tomllib.loads(f'[project]\nname = "a"\nversion = "1"\n[tool.nparam-lint]\n{text}\n')
    try:
        validator(table)
    except errors.ValidationError:
        assert not is_right
    else:
        assert is_right


def test_our_own_config_is_valid():
    table = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text("utf-8"))
    Draft7Validator(config_schema()).validate(table["tool"]["nparam-lint"])
