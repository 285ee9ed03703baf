"""The page in a real browser: pictures, search, keyboard; nothing is requested, nothing fails."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

import pytest
from browsers import launched_browser, needs_chromium
from diff_samples import diff
from diff_samples import model as diff_model
from msgspec.structs import replace
from page_samples import COMPARISON, distinct, gpt_report, plain, shared_net
from report_samples import (
    broken_finding,
    hostile,
    many,
    measured,
    model,
    report,
    rows,
)

from nparam_lint.analysis.documents.compare_document import compare_document
from nparam_lint.changes.documents.diff_document import diff_document
from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Position, SourceLine
from nparam_lint.report import Options, formats
from nparam_lint.report.check_document import check_document

pytestmark = needs_chromium
# By what each model is called, its modules as JSON has them, as far as the page needs them.
ALL_MODULES = """() => Object.fromEntries(DATA.pictures.map(({ sides: [{ name, root }] }) => [
  name,
  [...new Module(root, "", null, 1, null, false).walk()].map((module) => ({
    path: module.path,
    type: module.type,
    own: module.own,
    total: module.total,
    trainable: module.total - (module.more.f || 0),
    buffers: module.more.b || 0,
    source: module.source || null,
    shared_with: module.more.s ?? null,
    tied: module.more.k || [],
  })),
]))"""
TWO_FRAMES = "() => new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))"
WIDTHS = (1400, 800, 400)


@pytest.fixture(scope="module")
def show(tmp_path_factory):
    """Opens a document. A page that asks for anything, whose script fails, or that is wider than
    its window, fails the test."""
    with launched_browser() as browser:

        @contextmanager
        def opened(document, width=1200, scripts=True):
            file = tmp_path_factory.mktemp("page") / "page.html"
            file.write_text(formats.render("html", document, Options()), encoding="utf-8")
            made = browser.new_context(
                viewport={"width": width, "height": 800},
                reduced_motion="reduce",
                color_scheme="dark",
                java_script_enabled=scripts,
            )
            page, asked, said = made.new_page(), set(), []
            page.set_default_timeout(5_000)
            page.on("request", lambda request: asked.add(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto(file.as_uri())
            if scripts:
                page.evaluate(TWO_FRAMES)  # what observes the size draws in the next
            yield page
            for narrower in WIDTHS:
                page.set_viewport_size({"width": narrower, "height": 800})
                if scripts:
                    page.evaluate(TWO_FRAMES)
                assert page.evaluate("document.documentElement.scrollWidth") <= narrower
            made.close()
            assert asked == {file.as_uri()}
            assert said == []

        yield opened


GPT = check_document(gpt_report())


@pytest.fixture(scope="module")
def shown_gpt(show):
    with show(GPT) as page:
        yield page


@pytest.fixture
def gpt_page(shown_gpt):
    shown_gpt.reload()
    return shown_gpt


LONG = "encoder.transformer_layers.0.self_attention_with_relative_positions.out_projection"
LINE = "def __init__(self, width=256, depth=12, heads=8, dropout=0.1, hidden_width=6):"


def everything():
    """What is difficult to show, in one page: equal and shared layers, long lines, odd names."""
    at = Position("net.py", 12, LINE.index("hidden") + 1)
    marked = replace(broken_finding(), lines=(SourceLine(at, LINE, 14),))
    layer = rows([(LONG, "NonDynamicallyQuantizableLinear", 1_234_567_890)])
    odd = hostile()
    models = {"long": layer, "equal": plain(2_000), "shared": shared_net()}
    made = (model(f"{name}.py::Net", measured(modules)) for name, modules in models.items())
    return check_document(report(*odd.models, *made, *many(3).models, besides=[marked]))


def changed():
    blocks = {f"h.{i}.fc": 2_000 for i in range(4)}
    before = {**blocks, "wide": 4_000, "old": 1_000}
    after = {**blocks, "h.4.fc": 2_000, "wide": 4_500, "adapter": 900}

    def side(leaves):
        text = "\n".join(f"{path} Linear {count}" for path, count in leaves.items())
        return [diff_model("net.py::Net", text)]

    return diff_document(diff(side(before), side(after)))


def has_the_modules_of_the_report(page, document):
    drawn = page.evaluate(ALL_MODULES)
    for one in json.loads(formats.render("json", document, Options()))["models"]:
        if one["target"] == clean(one["target"]) and one["modules"]:
            modules = drawn[one["target"]]
            assert modules == [{name: row[name] for name in modules[0]} for row in one["modules"]]


def crumbs(page, pane=0):
    """Where the picture is, and how much is drawn."""
    nav = page.locator(".crumbs").nth(pane)
    amount = nav.locator(".number").inner_text()  # waits until the picture is drawn
    return nav.locator("button").all_inner_texts(), amount


def cell(page, start):
    return page.locator(f'.cell[aria-label^="{start} "]').first


def test_the_picture_and_what_the_mouse_does(gpt_page):
    page = gpt_page
    # The numbers of the report.
    assert cell(page, "transformer.wte").inner_text().split("\n") == [
        "wte",
        "Embedding",
        "38,633,472",
    ]
    has_the_modules_of_the_report(page, GPT)
    # A click zooms in and out.
    assert crumbs(page) == (["GPT"], "124,373,760")
    cell(page, "transformer.h.0…11").click()
    assert crumbs(page) == (["GPT", "transformer", "h", "0…11"], "12 × 7,079,424 = 84,953,088")
    page.locator(".crumbs button", has_text="transformer").click()
    assert crumbs(page)[0] == ["GPT", "transformer"]
    page.locator(".cell.edge").click()
    assert crumbs(page)[0] == ["GPT"]
    # Sums are those of what is drawn.
    page.get_by_label("colour and sum by").select_option("type")
    texts = page.locator(".sums tbody tr").first.inner_text().split()
    assert texts == ["Linear", "84,934,656", "68.3", "%"]
    page.locator(".sums .key", has_text="Embedding").click()
    assert page.locator(".cell.hit b").all_inner_texts() == ["wte"]
    assert "dim" in cell(page, "transformer.h.0…11.mlp").get_attribute("class").split()
    # Repeated blocks can be unfolded.
    page.get_by_label("fold repeated modules").uncheck()
    assert page.locator('.cell[aria-label*="· Block ·"]').count() == 12


def test_the_keyboard_is_enough(gpt_page):
    page = gpt_page
    page.evaluate(TWO_FRAMES)  # what observes the size draws once more
    keyboard = page.keyboard
    for _ in range(12):
        keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('cell')"):
            break
    for key in ("ArrowRight", "ArrowRight", "End"):
        keyboard.press(key)
    assert page.locator(".told").inner_text().startswith("transformer.h · ModuleList · 84,953")
    keyboard.press("Enter")
    assert crumbs(page)[0] == ["GPT", "transformer", "h"]
    keyboard.press("Escape")
    assert crumbs(page)[0] == ["GPT", "transformer"]
    keyboard.press("/")
    keyboard.type("c_fc")
    keyboard.press("Enter")
    assert crumbs(page)[0] == ["GPT", "transformer", "h", "0…11", "mlp"]
    for _ in range(20):
        keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('tr[aria-level]')"):
            break
    keyboard.press("End")
    keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.querySelector('code').textContent") == "c_fc"


def test_search_finds_names_types_and_lines(gpt_page):
    page = gpt_page
    search, result = page.get_by_label("Search modules"), page.locator(".explorer .result")
    for text, found in (
        ("c_fc", "12 modules, 28,311,552 (22.8 %)"),
        ("layernorm", "25 modules, 19,200 (<0.1 %)"),
        ("h.0…11.mlp", "12 modules, 56,623,104 (45.5 %)"),
        ("h.3.mlp", "12 modules, 56,623,104 (45.5 %)"),  # those that stand folded
        ("former.h.*.mlp.c_", "24 modules, 56,623,104 (45.5 %)"),
        ("h.12", "nothing found"),
        ("model.py:12", "1 module, 38,633,472 (31.1 %)"),
        ("nothing", "nothing found"),
    ):
        search.fill(text)
        assert result.inner_text() == found
    search.fill("c_fc")
    assert page.locator(".cell.hit b").all_inner_texts() == ["c_fc"]
    search.press("Escape")
    assert result.inner_text() == ""
    assert page.locator(".cell.dim").count() == 0


def test_what_is_difficult_to_show(show):
    document = everything()
    with show(document, WIDTHS[-1]) as page:
        has_the_modules_of_the_report(page, document)
        # A caret stands under its text, and no line of source is wrapped.
        source = page.locator(".findings pre", has_text="hidden_width").first
        code, carets, *_ = source.inner_text().split("\n")
        assert code.index("hidden_width=6") == carets.index("^" * 14)
        line = source.evaluate("pre => parseFloat(getComputedStyle(pre).lineHeight)")
        end = "pre => { const range = new Range(); range.setEndBefore(pre.querySelector('span'));"
        end += " range.setStart(pre, 0); return range.getBoundingClientRect().height; }"
        assert source.evaluate(end) < 3 * line
        # Long names leave room for the shares.
        card = page.locator(".card", has_text="long.py")
        card.locator(".picture").scroll_into_view_if_needed()
        card.locator(".icicle .cell").first.wait_for()
        fits_with_all_rows(card)
        # Names that look like code are names.
        odd = page.locator(".card", has_text="<script>").first
        odd.locator(".picture").scroll_into_view_if_needed()
        odd.locator(".icicle .cell").first.wait_for()
        assert "<script>" in odd.locator(".modules tbody").first.inner_text()
        assert page.locator("body script:not([type])").count() == 2  # those of the page
        # Two thousand equal layers are no barcode.
        equal = page.locator(".card", has_text="equal.py")
        equal.locator(".picture").scroll_into_view_if_needed()
        equal.locator(".cell").first.wait_for()
        assert equal.locator(".cell b").all_text_contents() == ["Net", "layers", "layers.0…1999"]
        equal.get_by_label("fold repeated modules").uncheck()
        assert equal.locator(".cell").count() < 80
        assert equal.locator(".cell.more b").first.text_content().startswith("layers.0 … ")
        # Models can be searched.
        page.get_by_label("Search models").fill("n00002")
        assert page.locator(".card:visible").count() == 1
        assert page.locator("section > .tools .result").inner_text() == "1 model"


def fits_with_all_rows(card):
    box = card.locator(".modules")
    box.scroll_into_view_if_needed()
    assert box.locator("tbody tr").count() > 3
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_without_a_script_the_essential_is_there(show):
    with show(everything(), WIDTHS[-1], scripts=False) as page:
        assert page.locator("h1").inner_text() == "4 budgets broken"
        card = page.locator(".card", has_text="long.py")
        fits_with_all_rows(card)
        page.set_viewport_size({"width": WIDTHS[0], "height": 800})
        cells = card.locator(".picture table tbody tr").first.locator("th, td").all_text_contents()
        assert cells[2:4] == ["1,234,567,890", "100.0 %"]
        # Its text, whether or not the browser has drawn what is further down.
        assert "layers.0 … layers.1999 (2,000×)" in page.locator(".cards").text_content()


def test_a_diff_shows_both_sides_with_what_changed(show):
    with show(changed()) as page:
        assert "<wbr>" not in page.locator("h1", has_text="+2,400").inner_html()
        assert page.locator(".pane h3").all_inner_texts() == ["before", "after"]
        before, after = page.locator(".pane").all()
        texts = {
            kind: [side.locator(f".kind-{kind} b").all_inner_texts() for side in (before, after)]
            for kind in ("added", "removed", "changed", "inside")
        }
        assert texts == {
            "added": [[], ["adapter", "h.4", "fc"]],
            "removed": [["old"], []],
            "changed": [["wide"], ["wide"]],
            "inside": [["Net"], ["Net", "h"]],
        }
        assert after.locator(".kind-changed .number").inner_text() == "4,500"
        before.locator('.cell[aria-label^="h "]').click()
        assert [crumbs(page, i)[0] for i in (0, 1)] == [["Net", "h"], ["Net", "h"]]
        assert [crumbs(page, i)[1] for i in (0, 1)] == ["8,000", "10,000"]
        after.locator('.cell[aria-label^="h.4 "]').click()  # the other side stays where it can
        assert [crumbs(page, i)[0][1:] for i in (0, 1)] == [["h"], ["h", "4"]]


def test_models_are_compared_beside_each_other(show):
    with show(compare_document(COMPARISON)) as page:
        assert page.locator(".pane h3").all_inner_texts() == [
            "A GPT(n_layer=6)",
            "B GPT(n_layer=12)",
        ]
        heights = "[...document.querySelectorAll('.cell.edge')].map((c) => c.offsetHeight)"
        same = page.evaluate(heights)
        page.get_by_label("same scale").check()
        small, large = page.evaluate(heights)
        assert same[0] == same[1] == large > small


@pytest.mark.thorough
def test_ten_thousand_modules_open_at_once_and_stay_fluid(show):
    """In half a second where nothing else runs; allowed are two."""
    start = time.perf_counter()
    with show(check_document(report(model("net.py::Net", measured(distinct(10_000)))))) as page:
        page.locator(".cell").first.wait_for()
        assert time.perf_counter() - start < 5
        cells = page.locator(".icicle .cell")
        assert 20 < cells.count() < 400
        heights = page.evaluate(
            "[...document.querySelectorAll('.icicle .cell')].map((c) => c.offsetHeight)"
        )
        assert min(heights) >= 1
        took = page.evaluate(
            """() => {
              const start = performance.now();
              document.querySelectorAll(".icicle .cell.holder")[8].click();
              return performance.now() - start;
            }"""
        )
        assert took < 500  # milliseconds, where 10 are usual
        for _ in range(8):  # down to one layer: nothing is merged for ever
            page.locator(".icicle .cell.holder:not(.edge)").last.click()
            if not page.locator(".icicle .cell.holder:not(.edge)").count():
                break
        assert page.locator(".icicle .cell.more:not(.edge)").count() == 0
