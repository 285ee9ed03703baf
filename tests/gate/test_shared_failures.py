"""What is said of models that one line of the project keeps from being counted."""

from __future__ import annotations

import json
import re

from model_source import model_class
from sample_files import write_files

LAYER = """\
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d + "4")
"""
FAILED = """\
alone.py:4:16  NPL004  Net4() raised TypeError: unsupported operand type(s) for +: 'int' and 'str'
    thin.py
    7 |         self.fc = nn.Linear(d, d + "4")
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

base.py:7:9  NPL004  3 models not measured: TypeError: unsupported operand type(s) for +: 'int' and
    'str'
    7 |         self.fc = nn.Linear(d, d + "4")
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  ✗ m1.py:4  Net1
  ✗ m2.py:4  Net2
  ✗ m3.py:4  Net3

names.py:2:1  NPL004  2 models not measured: KeyError: 'w'
    2 | WIDTH = TABLE["w"]
      | ^^^^^^^^^^^^^^^^^^
  ✗ n5.py:4  Net5
  ✗ n6.py:4  Net6

table.py:2:1  NPL004  2 models not measured: failed: table.py has no 'WIDTH': line 2 failed:
    KeyError: 'w'
    2 | WIDTH = TABLE["w"]
      | ^^^^^^^^^^^^^^^^^^
  ✗ t5.py:4  Net5
  ✗ t6.py:4  Net6

For an explanation and an example: nparam-lint rule NPL004
"""
MARKDOWN = """\
- ❌ `base.py:7` **NPL004** 3 models not measured: TypeError: unsupported operand type(s) for +: \
'int' and 'str'
  ```text
  7 |         self.fc = nn.Linear(d, d + "4")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    m1.py:4  Net1
    m2.py:4  Net2
    m3.py:4  Net3
  ```
"""


def net(number: int, first: str = "from base import Layer", layer: str = "Layer(8)") -> str:
    source = model_class(f"Net{number}", f"self.a = {layer}", doc="nparam: 72")
    return f"from torch import nn\n{first}\n" + source.lstrip("\n")


def test_what_one_line_keeps_from_being_counted_is_one_finding(tmp_path, nparam_lint):
    files = {f"m{i}.py": net(i) for i in (1, 2, 3)}
    files |= {"alone.py": net(4, "from thin import Layer"), "base.py": LAYER, "thin.py": LAYER}
    for number in (5, 6):  # a file that lost a name as it was imported
        files[f"n{number}.py"] = net(number, "from names import WIDTH", "nn.Linear(8, WIDTH)")
        files[f"t{number}.py"] = net(number, "import table", "nn.Linear(8, table.WIDTH)")
    files |= dict.fromkeys(("names.py", "table.py"), 'TABLE = {}\nWIDTH = TABLE["w"]\n')
    write_files(tmp_path, files)

    def told(*words: str) -> str:
        done = nparam_lint(*words, cwd=tmp_path, COLUMNS="100")
        assert done.returncode == 1
        return done.stdout

    assert told("-q").rpartition("\n\n")[0] == FAILED.rstrip()
    assert MARKDOWN in told("--format", "markdown")
    annotations = [n for n in told("--format", "github").splitlines() if n.startswith("::")]
    assert annotations[1] == (
        "::error file=base.py,line=7,col=9,title=NPL004 cannot-build::3 models not measured: "
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'%0A"
        '7 |         self.fc = nn.Linear(d, d + "4")%0A'
        "  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^%0A"
        "  m1.py:4  Net1%0A  m2.py:4  Net2%0A  m3.py:4  Net3"
    )
    page = told("--format", "html")
    assert (page.count("3 models not measured"), page.count("<pre>")) == (1, 4)
    # What programs read has a finding for each model.
    findings = json.loads(told("--format", "json"))["findings"]
    assert [(f["path"], f["line"], f["target"], f["detail"]) for f in findings[1:4]] == [
        (f"m{i}.py", 4, f"m{i}.py::Net{i}", ["at base.py:7"]) for i in (1, 2, 3)
    ]
    for name, each in (("sarif", '"ruleId"'), ("junit", "<error "), ("gitlab", "check_name")):
        assert told("--format", name).count(each) == 8


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
ENDED = """\
ends.py:13:16  NPL005  Crashes was killed by SIGSEGV (signal 11) while it was built
    9 |     return ctypes.string_at(at)
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
    at ends.py:9 in read
    compiled code crashed, and tensors have no values here that it could read: call it where the \
model runs, not in its constructor

ends.py:21:16  NPL005  Exits ended with exit status 3 while it was built
    | no licence for this machine

ends.py:30:16  NPL005  Takes() ran out of memory
    34 |         self.table = bytearray(2**60)
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    the machine has no more memory; tensors take none here: make arrays and lists of that size \
where the model is trained, not in its constructor

ends.py:38:16  NPL005  Waits took longer than 3 s while it was built
    43 |             time.sleep(1)
       |             ^^^^^^^^^^^^^
    at ends.py:43 in __init__
    if it only needs more time: --timeout SECONDS, or `timeout` in the config
"""


def test_how_a_process_ended_is_told_in_words(tmp_path, nparam_lint):
    write_files(tmp_path, {"ends.py": ENDS})
    done = nparam_lint("-qv", "--timeout", "3", cwd=tmp_path, COLUMNS="200")
    text = done.stdout.partition("\nFor an explanation")[0]
    assert re.sub(r"(?m)^    \|(?! no licence).*\n", "", text) == ENDED
    # The stack, of whoever wants to know more.
    assert "    | Fatal Python error: Segmentation fault\n" in text
    assert f'    |   File "{tmp_path}/ends.py", line 9 in read\n' in text
    assert "    | Timeout (0:00:02.700000)!\n" in text
