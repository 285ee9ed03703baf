"""The modules of a model as a tree that a browser folds and unfolds without a script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.folded_modules import make_tree
from nparam_lint.report.html_parts import escape
from nparam_lint.report.style import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.records import ModuleRow
    from nparam_lint.report.folded_modules import Tree, TreeRow

_HUES = 6
_UNFOLDED = 40  # rows up to which the whole tree stands open
_SLIVER = 0.002  # of the whole: what would be thinner is left out of the strip

_HEADER = (
    '<div class="row head" aria-hidden="true"><span class="module">module</span>'
    '<span class="own">own</span><span class="total">total</span>'
    '<span class="share">share</span><span class="source">made at</span></div>'
)


def module_tree(modules: Sequence[ModuleRow], depth: int | None, limit: int) -> str:
    """A strip of what the parts weigh, then the tree in at most `limit` rows; nothing where the
    total is all that there is to say."""
    tree = make_tree(modules, depth, limit)
    if len(tree.rows) < 2:
        return ""
    rows = tree.rows[:limit]
    by_path = {row.path: row for row in modules}
    hues = list(_hues(rows))
    lines = [*_strip(rows, hues), _HEADER, '<ul class="tree">']
    levels = [*(row.level for row in rows[1:]), 0]
    for row, hue, after in zip(rows, hues, levels, strict=True):
        cells = _cells(row, hue, by_path[row.path], rows[0].total)
        lines.append(_branch(row.level, after, cells, len(rows) <= _UNFOLDED))
    lines += ["</ul>", _note(tree, len(rows))]
    return "\n".join(line for line in lines if line)


def _hues(rows: Sequence[TreeRow]) -> Iterator[int]:
    """One colour for all that belongs to one part of the model: from where it first divides."""
    counts = Counter(row.level for row in rows if row.level and row.new)
    level = min((level for level, count in counts.items() if count > 1), default=1)
    part = -1
    for row in rows:
        part += 0 < row.level <= level
        yield max(part, 0) % _HUES


def _strip(rows: Sequence[TreeRow], hues: Sequence[int]) -> Iterator[str]:
    parts = [(row, hue) for row, hue in zip(rows, hues, strict=True) if row.counted]
    if len(parts) < 2:
        return
    yield '<div class="strip" aria-hidden="true">'
    for row, hue in parts:
        if row.counted >= _SLIVER * rows[0].total:
            told = escape(f"{row.path or row.type}: {row.counted:,}")
            share = 100 * row.counted / rows[0].total
            yield f'<i class="hue-{hue}" style="flex-grow:{share:.2f}" title="{told}"></i>'
    yield "</div>"


def _branch(level: int, after: int, cells: str, unfolded: bool) -> str:
    """A row that opens what is below it, or that closes all that ends with it. `after`: the level
    of the next row."""
    if after > level:
        state = " open" if unfolded or level < 2 else ""
        return f'<li><details{state}><summary class="row">{cells}</summary>\n<ul>'
    return f'<li><div class="row">{cells}</div></li>' + "</ul></details></li>" * (level - after)


def _cells(row: TreeRow, hue: int, module: ModuleRow, whole: int) -> str:
    """The name of each column is read aloud; it is seen above the tree."""
    chips = "".join(f' <span class="chip">{escape(m)}</span>' for m in _marks(row, module))
    cells = {
        "module": f'<code>{escape(row.label)}</code> <span class="type">{escape(row.type)}</span>'
        + chips,
        "own": _said("own", f"{row.own:,}" if row.own else ""),
        "total": _said("total", _total(row)),
        "share": _share(row.times * row.new, whole, hue),
        "source": _said("made at", escape(row.source or "")),
    }
    return "".join(f'<span class="{name}">{cell}</span>' for name, cell in cells.items())


def _said(name: str, cell: str) -> str:
    return f'<span class="said">{name} </span>{cell}' if cell else ""


def _marks(row: TreeRow, module: ModuleRow) -> Iterator[str]:
    for mark in row.marks:
        if mark == "tied" and module.tied and row.times == 1:
            yield f"tied: {', '.join(module.tied)}"
        elif mark == "shared":
            yield f"shared with {module.shared_with or '(total)'}"
        else:
            yield mark


def _total(row: TreeRow) -> str:
    """What is counted elsewhere stands in brackets, so that the rest adds up."""
    times = f'<span class="times">{row.times:,} ×</span> ' if row.times > 1 else ""
    elsewhere = row.total - row.new
    if not elsewhere:
        return f"{times}{row.total:,}"
    return f"{times}{row.new:,} (+{elsewhere:,})" if row.new else f"{times}({elsewhere:,})"


def _share(part: int, whole: int, hue: int) -> str:
    if not part or not whole:
        return ""
    bar = f'<i class="bar"><i class="hue-{hue}" style="width:{100 * part / whole:.2f}%"></i></i>'
    return f'{bar}<span class="percent">{style.share(part, whole)}</span>'


def _note(tree: Tree, shown: int) -> str:
    left = tree.rows[shown:]
    notes = []
    if left:
        count = sum(row.counted for row in left)
        notes.append(f"… and {plural(len(left), 'row')} with {count:,} parameters")
    if tree.empty:
        notes.append(f"… and {plural(tree.empty, 'module')} without parameters")
    if tree.deeper:
        notes.append("what is deeper is not shown here: nparam-lint show TARGET")
    return f'<p class="note">{escape(" · ".join(notes))}</p>' if notes else ""
