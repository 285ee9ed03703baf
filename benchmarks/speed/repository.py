"""Generates git repositories with declared models in them, and what the right budgets are."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from speed.measure import run
from speed.models_text import BLOCKS, FAMILIES
from speed.plain_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from speed.measure import Bench

_A_PACKAGE = 10  # models
_A_FOLDER = 50  # other files


@dataclass(frozen=True, slots=True)
class Model:
    """A model in a repository: its file, what it is called, and its source without a budget."""

    path: str
    name: str
    text: str

    @property
    def item(self) -> str:
        """As the loop that builds models calls it, with its defaults."""
        return f"{self.path.removesuffix('.py').replace('/', '.')}::{self.name}()"

    def declaring(self, total: int) -> str:
        """The source with that budget, twice: to the parameter, and the trainable ones."""
        return self.text.replace(
            "@BUDGETS@", f"    nparam: {total:_}\n    nparam[trainable]: {total:_}"
        )

    def of_width(self, width: int) -> Model:
        """The same model, edited: another default width."""
        old = next(line for line in self.text.splitlines() if "width: int = " in line)
        before, _, after = old.partition("width: int = ")
        new = f"{before}width: int = {width}{after.lstrip('0123456789')}"
        return Model(self.path, self.name, self.text.replace(old, new))


def generate(bench: Bench, files: int, models: int) -> tuple[Path, list[Model]]:
    """A repository with one commit: `files` Python files, of which `models` declare one model each,
    with the budgets that the bare loop counts, in packages that share blocks. The same arguments
    give the same files."""
    root, random = bench.folder("repository"), Random(files)
    made = [_model(number, random) for number in range(models)]
    texts = {"acme/__init__.py": ""}
    for package in {model.path.rpartition("/")[0] for model in made}:
        texts |= {f"{package}/__init__.py": "", f"{package}/blocks.py": BLOCKS}
    texts |= {model.path: model.text for model in made}
    for number in range(files - len(texts)):
        folder, place = divmod(number, _A_FOLDER)
        name = f"part_{place:02}" if place else "__init__"
        texts[f"acme/tools_{folder:04}/{name}.py"] = plain(random) if place else ""
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    totals = bench.build("bare", [model.item for model in made], cwd=root)[1]
    for model in made:
        (root / model.path).write_text(model.declaring(totals[model.item]), encoding="utf-8")
    commit(bench, root)
    return root, made


def _model(number: int, random: Random) -> Model:
    family, text = FAMILIES[number % len(FAMILIES)]
    name = f"{family}{number}"
    for mark, value in (
        ("@NAME@", name),
        ("@WIDTH@", str(32 * random.randrange(1, 9))),
        ("@DEPTH@", str(random.randrange(2, 5))),
    ):
        text = text.replace(mark, value)
    return Model(f"acme/nets_{number // _A_PACKAGE:03}/model_{number:04}.py", name, text)


def commit(bench: Bench, root: Path) -> None:
    """Make `root` a git repository that has everything in it committed."""
    (root / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    git(bench, root, "init", "-q", "-b", "main")
    git(bench, root, "add", "-A")
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org")
    git(bench, root, *who, "commit", "-q", "-m", "Generated")


def git(bench: Bench, root: Path, *arguments: str) -> float:
    """Seconds that git takes."""
    return run(["git", *arguments], root, bench.environ).seconds


def count_variants(bench: Bench, root: Path, model: Model, widths: Sequence[int]) -> list[int]:
    """What the bare loop counts of the model with each width."""
    items = [f"{model.item.removesuffix(')')}width={width})" for width in widths]
    totals = bench.build("bare", items, cwd=root)[1]
    return [totals[item] for item in items]
