import subprocess
import sys

from render_samples import rendered
from report_samples import everything, report

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def test_one_line_for_each_finding_sorted_by_place():
    assert (
        rendered("concise", everything(), Options())
        == """\
models/unet.py:10:1: error: NPL004 cannot build UNet: TypeError: UNet.__init__() missing 1 \
required positional argument: 'channels'
net.py:12:5: error: NPL001 Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)
zoo/tiny.py:3:5: warning: NPL013 the docstring says ~2K, TinyAE has 4,996 parameters
"""
    )


def test_nothing_where_nothing_was_found():
    assert rendered("concise", report(), Options()) == ""


def test_lines_sort_as_numbers_and_a_message_stays_on_its_line():
    findings = (
        Finding("NPL002", "error", Position("a.py", 10, 1), "two\nlines \x1b[31mred"),
        Finding("NPL002", "error", Position("a.py", 9, 2), "second"),
        Finding("NPL002", "error", Position("a.py", 9, 1), "first"),
    )
    assert rendered("concise", report(findings=findings), Options(color=True)) == (
        "a.py:9:1: error: NPL002 first\n"
        "a.py:9:2: error: NPL002 second\n"
        "a.py:10:1: error: NPL002 two lines \\x1b[31mred\n"
    )


def test_a_format_loads_no_other():
    code = (
        "import sys; from nparam_lint.gate.report import Report;"
        "from nparam_lint.report.check_document import check_document;"
        "from nparam_lint.report import Options;"
        "from nparam_lint.report.formats import render;"
        "render('concise', check_document(Report(None, (), ())), Options());"
        "print(sorted(m for m in sys.modules if m.startswith('nparam_lint.report.formats.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['nparam_lint.report.formats.concise']\n"
