"""What is said of many findings, and of processes that ended."""

from __future__ import annotations

import json

from model_source import model_class
from pages import pages, write_files_of
from sample_files import write_files


def test_what_one_line_keeps_from_being_counted_is_one_finding(tmp_path, nparam_lint):
    """As on pages/one_line.md; what programs read has a finding for each model."""
    write_files_of(pages(__file__)["one_line"], tmp_path)

    def told(format):
        return nparam_lint("--format", format, cwd=tmp_path).stdout

    page = told("html")
    assert (page.count("3 models not measured"), page.count("<pre>")) == (1, 4)
    findings = json.loads(told("json"))["findings"]
    assert [(f["path"], f["line"], f["target"], f["detail"]) for f in findings[1:4]] == [
        (f"m{i}.py", 4, f"m{i}.py::Net{i}", ["at base.py:7"]) for i in (1, 2, 3)
    ]
    for name, each in (("sarif", '"ruleId"'), ("junit", "<error "), ("gitlab", "check_name")):
        assert told(name).count(each) == 8


def test_of_many_findings_the_later_ones_are_short(tmp_path, nparam_lint):
    """And without a repository the heaviest modules are told, where no table has them."""
    nets = "".join(
        model_class(f"Net{n}", f"self.f = nn.Linear({n}, 1)", doc="nparam: 1") for n in range(1, 9)
    )
    write_files(tmp_path, {"a.py": f"from torch import nn\n{nets}"})
    texts = [nparam_lint(*more, cwd=tmp_path).stdout for more in (["-q"], ["-qv"], [])]
    assert [text.count("if the change is intended") for text in texts] == [5, 8, 5]
    assert [text.count("NPL001  Net") for text in texts] == [8, 8, 8]
    assert ["The rest in short (-v: in full):\n" in text for text in texts] == [True, False, True]
    assert ["heaviest modules:\n" in text for text in texts] == [True, True, False]
    assert ["f         Linear" in text for text in texts] == [False, False, True]
    assert not any("since" in text for text in texts)


def test_the_stack_of_a_process_that_ended(tmp_path, nparam_lint):
    """Of whoever wants to know more than is on pages/ends.md."""
    write_files_of(pages(__file__)["ends"], tmp_path)
    text = nparam_lint("-qv", "--timeout", "3", cwd=tmp_path, COLUMNS="200").stdout
    assert "    | Fatal Python error: Segmentation fault\n" in text
    assert f'    |   File "{tmp_path}/ends.py", line 9 in read\n' in text
    assert "    | Timeout (0:00:02.700000)!\n" in text
