"""What is said of models that one line of the project keeps from being counted."""

from __future__ import annotations

import json
import re

import pytest
from model_source import model_class
from sample_files import write_files

LAYER = """\
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d + "4")
"""


def net(number: int, first: str = "from base import Layer", layer: str = "Layer(8)") -> str:
    source = model_class(f"Net{number}", f"self.a = {layer}", doc="nparam: 72")
    return f"from torch import nn\n{first}\n" + source.lstrip("\n")


def files():
    made = {f"m{i}.py": net(i) for i in (1, 2, 3)}
    made |= {"alone.py": net(4, "from thin import Layer"), "base.py": LAYER, "thin.py": LAYER}
    for number in (5, 6):  # a file that lost a name as it was imported
        made[f"n{number}.py"] = net(number, "from names import WIDTH", "nn.Linear(8, WIDTH)")
        made[f"t{number}.py"] = net(number, "import table", "nn.Linear(8, table.WIDTH)")
    return made | dict.fromkeys(("names.py", "table.py"), 'TABLE = {}\nWIDTH = TABLE["w"]\n')


ENDS = """\
import ctypes
import os
import time

from torch import nn


def read(at):
    return ctypes.string_at(at)


class Crashes(nn.Module):
    '''nparam: 72'''

    def __init__(self):
        super().__init__()
        read(0)


class Exits(nn.Module):
    '''nparam: 72'''

    def __init__(self):
        super().__init__()
        print("no licence for this machine", flush=True)
        os._exit(3)


class Takes(nn.Module):
    '''nparam: 72'''

    def __init__(self):
        super().__init__()
        self.table = bytearray(2**60)


class Waits(nn.Module):
    '''nparam: 72'''

    def __init__(self):
        super().__init__()
        while True:
            time.sleep(1)
"""


@pytest.fixture
def place(tmp_path):
    write_files(tmp_path / "together", files())
    write_files(tmp_path / "ends", {"ends.py": ENDS})
    return tmp_path


def test_what_one_line_keeps_from_being_counted_is_one_finding(
    place, transcript, nparam_lint, expected
):
    """And how a process ended is told in words."""
    commands = "check -q\ncheck --format markdown\ncheck --format github"
    said = transcript(commands, columns=100, cwd="together")
    ((name, text),) = transcript("check -qv --timeout 3", columns=200, cwd="ends").items()
    # The stack, of whoever wants to know more.
    assert "    | Fatal Python error: Segmentation fault\n" in text
    assert '    |   File "ABOVE/ends/ends.py", line 9 in read\n' in text.replace("HERE", "ABOVE")
    assert "    | Timeout (0:00:02.700000)!\n" in text
    expected(said | {name: re.sub(r"(?m)^    \|(?! no licence).*\n", "", text)})

    def told(format):
        return nparam_lint("--format", format, cwd=place / "together").stdout

    page = told("html")
    assert (page.count("3 models not measured"), page.count("<pre>")) == (1, 4)
    # What programs read has a finding for each model.
    findings = json.loads(told("json"))["findings"]
    assert [(f["path"], f["line"], f["target"], f["detail"]) for f in findings[1:4]] == [
        (f"m{i}.py", 4, f"m{i}.py::Net{i}", ["at base.py:7"]) for i in (1, 2, 3)
    ]
    for name, each in (("sarif", '"ruleId"'), ("junit", "<error "), ("gitlab", "check_name")):
        assert told(name).count(each) == 8
