"""What a notebook's cell shows, in a real browser: with scripts, and without."""

import pytest
from browsers import launched_browser, needs_chromium
from torch import nn

import nparam_lint

pytestmark = [
    needs_chromium,
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def cell():
    counts = nparam_lint.count(nn.Transformer, 16, 2, 2, 2)
    return counts, counts._repr_html_()


@pytest.fixture(scope="module")
def browser():
    with launched_browser() as launched:
        yield launched


def test_the_table_and_the_picture(browser, cell):
    counts, html = cell
    page, asked, said = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content(f"<p>another cell</p>{html}")
    assert f"{counts.total:,}" in page.inner_text(".nparam-lint > table")
    assert "encoder" in page.inner_text(".nparam-lint > .modules")
    page.click("summary")
    frame = page.frame_locator("iframe")
    page.locator("iframe").scroll_into_view_if_needed()  # a picture is drawn when it is seen
    frame.locator(".icicle").wait_for()
    assert "Transformer" in frame.locator(".crumbs").inner_text()
    assert not [url for url in asked if url.startswith(("http:", "https:", "file:"))]
    assert said == []
    page.close()


def test_the_table_without_scripts_and_without_the_frame(browser, cell):
    counts, html = cell
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    before, _, rest = html.partition("<iframe")
    page.set_content(before + rest.partition("</iframe>")[2])  # as GitHub shows a notebook
    assert f"{counts.total:,}" in page.inner_text(".nparam-lint")
    assert page.locator(".modules tr").count() > 5
    context.close()


def test_names_of_a_model_are_text(browser):
    evil = type("<img src=x onerror=alert(1)>", (nn.Linear,), {})
    html = nparam_lint.count(evil(2, 2))._repr_html_()
    page = browser.new_page()
    page.set_content(html)
    assert page.locator("img").count() == 0
    page.close()
