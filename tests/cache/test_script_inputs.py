"""A cached count of what a script makes is counted anew where the script, or what it reads, has
changed."""

import json

import pytest

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.a = nn.Linear(width, classes, bias=False)
"""
FOLLOWED = "Net(width, classes)"
NOT_FOLLOWED = "globals()['Net'](width, classes)"
SCRIPT = """
import json
import os

from net import Net

if __name__ == "__main__":
    width = json.load(open("width.json"))["width"]
    classes = len(os.listdir("classes"))
    model = {call}
"""


@pytest.mark.parametrize("call", [FOLLOWED, NOT_FOLLOWED])
def test_a_script_and_what_it_reads_are_inputs(tmp_path, nparam_lint, call):
    def total():
        done = nparam_lint("--format", "json", cwd=tmp_path, NPARAM_LINT_DEVICE="meta")
        models = json.loads(done.stdout)["models"]
        return {m["counts"]["total"] for m in models if m["status"] == "measured"}

    def write(name, text):
        (tmp_path / name).write_text(text, "utf-8")

    (tmp_path / "classes").mkdir()
    write("classes/a", "")
    write("net.py", NET)
    write("README.md", "    python train.py\n")
    write("width.json", '{"width": 3}')
    write("train.py", SCRIPT.format(call=call))
    assert total() == {3}
    write("width.json", '{"width": 5}')
    assert total() == {5}
    write("classes/b", "")
    assert total() == {10}
    write("train.py", SCRIPT.format(call=call).replace("width, ", "2 * width, "))
    assert total() == {20}
