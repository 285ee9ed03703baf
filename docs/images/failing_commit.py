"""Draws `failing-commit.svg`: a commit that a hook really refuses, as a terminal shows it.

python docs/images/failing_commit.py
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

WIDTH = 84
FONTS = "ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace"
MODEL = '''\
from torch import nn


class MLP(nn.Module):
    def __init__(self, d, ratio):
        super().__init__()
        self.c_fc = nn.Linear(d, ratio * d)
        self.c_proj = nn.Linear(ratio * d, d)


class Block(nn.Module):
    def __init__(self, d, ratio):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 12)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = MLP(d, ratio)


class GPT(nn.Module):
    """GPT-2 (small).

    nparam: 124_439_808
    """

    def __init__(self, vocab=50257, d=768, n_layer=12, ratio=4):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.wpe = nn.Embedding(1024, d)
        self.h = nn.ModuleList(Block(d, ratio) for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
'''
IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")


def run(place: Path, *command: str) -> str:
    """What a command prints, with its colours."""
    environ = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "GIT_PAGER": "cat"}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    done = subprocess.run(
        command, cwd=place, env=environ, stdout=-1, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout


def session(place: Path) -> str:
    """A terminal in which the commit is refused."""
    git = ("git", *IDENTITY)
    net = place / "gpt.py"
    net.write_text(MODEL)
    for command in ("init --quiet", "add gpt.py", "commit --quiet -m model"):
        run(place, *git, *command.split())
    run(place, sys.executable, "-m", "nparam_lint", "install-hook")
    net.write_text(MODEL.replace("ratio=4", "ratio=5"))
    edit = run(place, "git", "diff", "-U0", "--color=always").splitlines()[-2:]
    refused = run(place, *git, "commit", "-am", "Wider MLP")
    prompt = "\x1b[32m$\x1b[0m"
    return "\n".join(
        [f"{prompt} git diff -U0 | tail -2", *edit, f"{prompt} git commit -am 'Wider MLP'", refused]
    )


def draw(text: str) -> str:
    """The text as a picture, in fonts that every system has."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text.rstrip()))
    style = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    style = style.replace("Fira Code, monospace", FONTS)
    return console.export_svg(title="git commit", code_format=style, unique_id="commit")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        text = session(Path(place))
    assert "NPL001" in text, text
    Path(__file__).with_name("failing-commit.svg").write_text(draw(text), encoding="utf-8")


if __name__ == "__main__":
    main()
