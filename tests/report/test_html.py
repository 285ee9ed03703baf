"""The page for the browser: what it holds, what it must not, and that it stays small enough."""

import re
import textwrap
from pathlib import Path

import pytest
from msgspec.structs import replace
from render_samples import rendered
from report_checks import Page, check_html
from report_samples import (
    MISSTATED,
    broken_net,
    everything,
    failed,
    glob_gpt,
    gpt,
    many,
    measured,
    model,
    needs,
    net,
    report,
    rows,
    tiny,
    unmeasured,
)

from nparam_lint.ground.findings import Change, Finding
from nparam_lint.ground.values import Position, SourceLine, Way
from nparam_lint.ground.version import __version__
from nparam_lint.report import Options, html_parts
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats import html as html_format
from nparam_lint.report.html_parts import module_table

STYLE = Path(html_parts.__file__).with_name("browser").joinpath("page.css").read_text("utf-8")


def html(value, **options) -> str:
    text = rendered("html", value, Options(**options))
    check_html(text)
    return text


def words(text: str) -> str:
    """What is read on the page, with single blanks."""
    pieces = Page(re.sub("<(style|script)[ >].*?</\\1>", "", text, flags=re.DOTALL)).pieces
    return " ".join(" ".join(pieces).split())


VERDICTS = [
    ("good", "3 budgets hold", report(glob_gpt())),
    ("warn", "1 warning", report(tiny(), besides=(MISSTATED,))),
    ("bad", "1 budget broken</h1><p>1 other error · 3 budgets hold · 1 warning", everything()),
    ("bad", "Nothing could be checked", failed()),
    ("none", "1 model counted, no budget declared", report(model("a.py::A", measured(net())))),
    ("none", "Nothing to check", report(environment=None)),
]


def test_the_verdict_stands_at_the_top():
    for tone, said, value in VERDICTS:
        body = html(value).partition("<body>\n")[2]
        assert body.startswith(f'<header class="verdict {tone}">')
        assert f"<h1>{said}</" in body


def changed_net():
    """One whose card tells what changed."""
    one = broken_net()
    at = Position("net.py", 14, 9)
    finding = replace(
        one.findings[0],
        since="changed since HEAD, when it had 50,890",
        changes=(Change("~", "h.0…1.fc", "64×784 → 128×784", 50_896, 2, "net.py:14"),),
        lines=(SourceLine(at, "        self.hidden = nn.Linear(784, 128)", 4),),
    )
    return replace(one, findings=(finding,))


def test_what_is_read(expected):
    """More is on pages/browser.md."""
    page = words(html(report(changed_net()))).replace(__version__, "VERSION")
    expected({"what changed": f"{textwrap.fill(page, 100)}\n"})


def test_a_way_of_another_size_has_a_card_of_its_own():
    """Unlike one that was counted with its defaults."""
    way = Way("call", Position("README.md", 156), "")
    models = [model("a.py::Net", measured(net()), way=way) for way in (None, way)]
    models.append(model("a.py::Net", measured(gpt(2)), way=way))
    assert re.findall(r'id="(way-\d)"', html(report(*models))) == ["way-1"]


@pytest.mark.parametrize(("number", "more"), [(100, []), (103, ["… and 3 more models"])])
def test_ways_for_which_there_is_no_room_are_said_to_be_left_out(number, more):
    way = Way("call", Position("README.md", 156), "")
    text = html(report(*(model(f"a.py::Net{n}", measured(net()), way=way) for n in range(number))))
    section = text.partition("<h2>As the project builds them</h2>")[2].partition("</section>")[0]
    assert section.count('id="way-') == 100
    assert re.findall(r"… and \d+ more models?", section) == more


def test_links_lead_to_the_models_of_which_the_broken_come_first():
    """A few models are open, and of many those that fail; layers of other models are closed."""
    text = html(report(glob_gpt(), broken_net()))
    assert '<a href="#model-1"><code>net.py::Net</code></a>' in text
    assert re.findall(r'id="model-\d"', text) == ['id="model-1"', 'id="model-2"']
    assert text.index('class="card bad" id="model-1"') < text.index('id="model-2"')

    def opened(*models):
        return re.findall(r'class="card \w+" id="([\w-]+)"[^>]* open', html(report(*models)))

    some = [model(f"a{i}.py::A", measured(net())) for i in range(8)]
    assert len(opened(*some)) == 8
    assert len(opened(*some, broken_net(), unmeasured())) == 2
    part = model("a.py::Block", measured(net()), top_level=False)
    assert opened(part, model("a.py::GPT", measured(net()))) == ["model-2"]


# --- the table that stands where there is no script ----------------------------------------------


def table(modules, depth=None, limit=40) -> str:
    return module_table(Modules(measured(modules), depth, limit, "net's.py::Net"))


def test_the_table_folds_as_that_of_a_terminal_does_and_is_cut_where_it_is_too_long():
    """What is counted elsewhere is in brackets, and the rest adds up; what is deeper is shown by a
    command that can be pasted."""
    modules = glob_gpt().measurement.modules
    page = Page(table(modules))
    assert page.text.count("h.0 … h.11 (12×)") == 1
    assert "head Linear tied: weight = transformer.wte.weight" in page.text
    assert "12 × 7,079,424" in page.text
    for depth in (None, 0, 1, 2, 5):
        for limit in (2, 5, 12, 300):
            shown = Page(table(modules, depth, limit)).cells[1:]
            assert len(shown) <= limit
            assert set(shown) <= {5}
            assert shown or depth == 0
    flat = rows([(f"layer{i}", "Linear", 10) for i in range(50)])
    assert "… and 31 rows with 310 parameters" in Page(table(flat, limit=20)).text
    note = Page(table(modules, 1)).text
    assert note.endswith("deeper: nparam-lint show 'net'\"'\"'s.py::Net'")


# --- the whole --------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_page_of_a_thousand_models_is_capped():
    parts = rows([(f"s{i // 10}.fc{i}", f"T{i}", 10 + i) for i in range(100)])
    value = many(1_000)
    models = [replace(m, measurement=measured(parts)) for m in value.models]
    # Whether such pages are valid is asked of smaller ones: a parser takes seconds for this one.
    text = rendered("html", replace(value, models=tuple(models)), Options())
    assert len(text) < 4_000_000
    assert text.count('<details class="card') == 1_000
    assert text.count('<tr><th scope="row"') <= 6_000


def test_lists_are_capped(monkeypatch):
    for module in (html_parts, html_format):
        monkeypatch.setattr(module, "LISTED", 20)  # rows, instead of a thousand
    found = tuple(Finding("NPL002", "error", Position("a.py", i), "x") for i in range(22))
    skipped = tuple((f"a.py::A{i}", needs("x")) for i in range(21))
    page = words(html(report(findings=found, skipped=skipped)))
    assert "… and 2 more findings" in page
    assert "… and 1 more model" in page
    many_budgets = words(html(many(23)))
    assert "… and 3 more budgets" in many_budgets


def luminance(color: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(scheme):
    """A contrast of 4.5 : 1, level AA of WCAG."""
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in STYLE.split("@media")[:2]
    )
    colors = light if scheme == "light" else light | dark
    pairs = [(ink, on) for ink in ("ink", "dim", "link") for on in ("page", "card", "soft")]
    for tone in ("good", "bad", "warn", "none"):
        pairs += [
            (tone, f"{tone}-soft"),
            (tone, "card"),
            ("ink", f"{tone}-soft"),
            ("dim", f"{tone}-soft"),
        ]
    pairs += [("ink", "cell"), ("dim", "cell"), ("ink", "mark")]
    for one, other in pairs:
        assert contrast(colors[one], colors[other]) >= 4.5, (scheme, one, other)
    for name, hue in colors.items():  # cells are tinted: `color-mix` in page.css
        if name.startswith("hue-"):
            assert contrast(colors["ink"], mixed(hue, colors["card"], 0.4)) >= 4.5, (scheme, name)


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(one: str, other: str, share: float) -> str:
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)
