"""Which edited config files are told beside a broken budget: those that its model is built by."""

from __future__ import annotations

import re

import pytest
from sample_repository import Sample

HEAD = "import json\n\nfrom torch import nn\n"
NET = "\n\nclass Net(nn.Module):\n    {doc}\n\n    def __init__(self, {takes}):\n"
NET += "        super().__init__()\n"
# A file each, with `{n}` in place of what is edited; and the config that it reads.
SOURCES = {
    # A word, in a docstring too, and an attribute name no file.
    "word.py": (
        NET.replace("{doc}", '"""A wide one."""').replace("{takes}", "wide={n}")
        + "        self.fc = nn.Linear(8, wide)\n",
        None,
    ),
    "attribute.py": (
        NET.replace("{doc}", "config = 'wide and deep'").replace("{takes}", "n={n}")
        + "        self.wide = type('Sizes', (), {{'json': n}})\n"
        + "        self.fc = nn.Linear(8, self.wide.json)\n",
        None,
    ),
    "name.py": (
        '\n\ndef build(path="configs/wide.json"):\n'
        "    return nn.Linear(8, json.load(open(path))['d'])\n",
        "configs/wide.json",
    ),
    "stem.py": (
        '\n\ndef build(name="deep"):\n'
        "    return nn.Linear(8, json.load(open('configs/' + name + '.json'))['d'])\n",
        "configs/deep.json",
    ),
}
CONFIG = """\
[budgets]
"word.py::Net" = 72
"attribute.py::Net" = 72
"name.py::build" = 72
"stem.py::build" = 72
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory, environ, nparam_lint):
    """What is said of each budget, by the file of the model."""
    sample = Sample.create(tmp_path_factory.mktemp("edited") / "r", environ)
    for number in (8, 9):
        files = {path: HEAD + text.format(n=number) for path, (text, _) in SOURCES.items()}
        config = f'{{\n  "d": {number}\n}}\n'
        files |= {"configs/wide.json": config, "configs/deep.json": config}
        files["nparam-lint.toml"] = CONFIG
        (sample.committed if number == 8 else sample.write)(files)
    done = nparam_lint("--declared", "-qv", cwd=sample.path, **sample.environ)
    texts = [text for text in done.stdout.split("\n\n") if text.startswith("nparam-lint.toml:")]
    return dict(zip(SOURCES, texts, strict=True))


@pytest.mark.parametrize("path", SOURCES)
def test_a_config_is_told_where_source_names_it_in_a_string(told, path):
    files = re.findall(r"^    (\S+\.(?:py|json))$", told[path], re.MULTILINE)
    assert files == [SOURCES[path][1] or path]
