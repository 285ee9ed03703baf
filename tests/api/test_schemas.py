"""The schemas: what is published is what the code makes, and agrees with what the tool accepts."""

import json
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from markdown_it import MarkdownIt

from nparam_lint.api.schemas import schemas, text_of
from nparam_lint.api.schemas.config_schema import config_schema, tool_schema
from nparam_lint.api.schemas.report_schemas import REPORTS
from nparam_lint.cli.main import COMMANDS, parser_of
from nparam_lint.config.load import ConfigError, load_settings

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

RIGHT = [
    "",
    'device = "meta"\ntolerance = "0.5%"\ntimeout = 20\nmemory = "8GB"\njobs = 2\nways = 1',
    'tolerance = 1000\ndepth = 0\nformat = "json"\nexclude = ["a/**"]\npython = ".venv"',
    'tolerance = "50k"\ntimeout = "1.5"\nmemory = "0.5 GiB"\nexclude = "a, b"',
    "tolerance = 0",
    'tolerance = "1_000"',
    'select = ["NPL0", "NPL101"]\nignore = "NPL001, NPL1"',
    '[severity]\nNPL010 = "error"\nNPL001 = "warning"',
    '[python]\nlinux = "a"\nmacos = "b"\nwindows = "c"',
    '[budgets]\n"a.py::A" = 12\n"a.py::B(n=1)[enc]" = "12k ± 1%"\n"b::C" = ["<= 3", 4]',
    '[budgets]\n"a.py::A" = { budget = "12M", tolerance = "1%", reason = "paper", device = "cpu" }',
    '[budgets]\n"a.py::A" = { budget = 1, setup = "c = 1", call = "A(c)", input = "1" }',
    '[arguments]\n"a.py::A" = "n=1"\n"*.py::*" = { arguments = "n=1", experts_per_token = 2 }',
    '[arguments]\n"configs/*.yaml" = { call = "train.py::build(path)" }',
    '[[overrides]]\nfiles = ["a/**"]\nignore = ["NPL001"]\ntolerance = "1%"\ndevice = "cpu"',
    '[[overrides]]\nfiles = "a.py"\nseverity = { NPL001 = "warning" }',
]
WRONG = [
    "tim = 1",
    'device = "gpu"',
    "tolerance = 5",
    'tolerance = "5"',
    'tolerance = "0.5"',
    'tolerance = "x%"',
    "tolerance = true",
    "timeout = 0",
    'timeout = "x"',
    "memory = 8",
    'memory = "8 TB"',
    "jobs = 0",
    "jobs = 1.5",
    "ways = []",
    "depth = -1",
    "exclude = 3",
    'exclude = ["a", 1]',
    'select = ["NPL9"]',
    'ignore = "NPL001,XYZ"',
    'format = ""',
    "extend = 3",
    'severity = "error"',
    '[severity]\nNPL999 = "error"',
    '[severity]\nNPL001 = "off"',
    '[python]\nbeos = "a"',
    "budgets = 3",
    '[budgets]\n"a.py" = 1',
    '[budgets]\n"a.py::A" = true',
    '[budgets]\n"a.py::A" = []',
    '[budgets]\n"a.py::A" = ""',
    '[budgets]\n"a.py::A" = { tolerance = "1%" }',
    '[budgets]\n"a.py::A" = { budget = 1, inputs = "x" }',
    '[budgets]\n"a.py::A" = { budget = 1, setup = "c = 1" }',
    '[budgets]\n"a.py::A" = { budget = 1, call = "t.py::A()" }',
    "arguments = []",
    '[arguments]\n"a.py::A" = 3',
    '[arguments]\n"a.py::A" = { argument = "x" }',
    '[arguments]\n"a.py::A" = { setup = "c = 1" }',
    '[arguments]\n"a.py::A" = { arguments = "n=1", experts_per_token = 0 }',
    '[arguments]\n"configs/*.yaml" = "n=1"',
    '[arguments]\n"configs/*.yaml" = { call = "build(path)" }',
    "overrides = 3",
    'overrides = [{ ignore = ["NPL001"] }]',
    '[[overrides]]\nfiles = ["a"]\ntimeout = 3',
    "[[overrides]]\nfiles = []\n",
    '[[overrides]]\nfiles = ["a"]\nsevrity = {}',
]


def tool_accepts(text, root):
    name = "pyproject.toml" if "[tool." in text else "nparam-lint.toml"
    (root / name).write_text(text, "utf-8")
    (root / "train.py").write_text("")
    try:
        load_settings(root, None, {}, {})
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize("text", RIGHT + WRONG)
def test_schema_and_tool_agree(tmp_path, text):
    is_right = text in RIGHT
    errors = [*Draft7Validator(config_schema()).iter_errors(tomllib.loads(text))]
    assert not errors if is_right else errors
    assert tool_accepts(text, tmp_path) is is_right


@pytest.mark.parametrize("text", ON_PAGES)
def test_what_the_pages_show_is_read(tmp_path, text):
    table = tomllib.loads(text)
    Draft7Validator(config_schema()).validate(table.get("tool", {}).get("nparam-lint", table))
    assert tool_accepts(text, tmp_path)


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
    for file in (FOLDER.parents[1] / "pyproject.toml",):
        table = tomllib.loads(file.read_text("utf-8"))["tool"]["nparam-lint"]
        Draft7Validator(config_schema()).validate(table)
