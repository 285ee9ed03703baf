"""Makes the screenshots of docs/pictures.md from real runs: a GPT of the size of GPT-2 is shown,
changed, and compared with what it was. Needs the extra `dev` and a Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "examples" / "small_transformers.py"
SIZES = {"block_size": 1024, "vocab_size": 50257, "n_layer": 12, "n_head": 12, "n_embd": 768}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def large(source: str) -> str:
    """The example with GPT-2's sizes as defaults, and without its budgets."""
    lines = [line for line in source.splitlines() if "nparam" not in line]
    start = lines.index("class NanoConfig:")
    for i, line in enumerate(lines[start : start + 6], start):
        name = line.strip().partition(":")[0]
        lines[i] = f"    {name}: int = {SIZES[name]}" if name in SIZES else line
    return "\n".join(lines) + "\n"


def changed(source: str) -> str:
    """Two blocks more, a wider feed-forward, and an adapter."""
    source = source.replace("n_layer: int = 12", "n_layer: int = 14")
    source = source.replace("4 * d_model", "5 * d_model")
    line = "        self.norm = nn.LayerNorm(config.n_embd)\n"
    adapter = "        self.adapter = nn.Linear(config.n_embd, 4096)\n"
    return source.replace(line, adapter + line)


def run(*command: object, cwd: Path) -> None:
    subprocess.run([*map(str, command)], cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def make_pages(place: Path) -> None:
    tool = [sys.executable, "-m", "nparam_lint"]
    file = place / "gpt.py"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    run(*git, "init", "--quiet", cwd=place)
    file.write_text(large(SOURCE.read_text("utf-8")), "utf-8")
    run(*git, "add", "gpt.py", cwd=place)
    run(*git, "commit", "--quiet", "-m", "A GPT", cwd=place)
    html = ("--format", "html", "--output-file")
    run(*tool, "show", "gpt.py::NanoGPT", *html, "show.html", cwd=place)
    file.write_text(changed(file.read_text("utf-8")), "utf-8")
    run(*tool, "diff", "HEAD", *html, "diff.html", cwd=place)


def take(place: Path) -> None:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if is_root else []
        )
        for name, scheme, selector in (
            ("show", "light", ".explorer"),
            ("diff", "dark", "section:has(.explorer)"),
        ):
            page = browser.new_page(
                viewport={"width": 1080, "height": 680},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            page.goto((place / f"{name}.html").as_uri())
            page.locator(".icicle .cell").first.wait_for()
            page.locator(selector).first.evaluate("(e) => scrollTo(0, e.offsetTop - 12)")
            page.screenshot(path=HERE / f"page-{name}.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        make_pages(Path(directory))
        take(Path(directory))
