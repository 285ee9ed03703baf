"""Documents: the output of a command, independent of the format.

Every command makes one `Document`; every module of `report.formats` renders documents. For programs
there is `data`, a command's own JSON document; for people there is `page`, made of the blocks
below; for tools that work with findings there is `report`. A format without its own rendering for
`Modules`, `ModelBudgets` or `Listing` renders the `table` of such a block. Texts stand in a page as
others wrote them, and each format makes them printable (`ground.printable.clean`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nparam_lint.gate.report import Report
    from nparam_lint.report.budget_outcomes import ModelBudgets
    from nparam_lint.report.folded_modules import Modules
    from nparam_lint.report.pictures import Picture, RolesOf

Json = dict[str, Any]


class Options(Struct, frozen=True):
    """How a document is to look; decided by the command line, which knows the terminal.

    `depth`: levels of modules below the root (None: as many as make a short table). `rows`: how
    many rows a table has before it is summed up (None: what suits the table). `place`: what was
    searched, in words (`src`). `declared_only`: models without a budget were left out. `prefix`:
    where the project lies in its repository (`packages/nets`), for what links to files.
    `below`: the same for the directory that was asked about, where it has several projects.
    """

    width: int = 80
    color: bool = False
    depth: int | None = None
    verbose: int = 0
    quiet: bool = False
    rows: int | None = None
    place: str = ""
    declared_only: bool = False
    prefix: str = ""
    below: str = "."

    @property
    def is_brief(self) -> bool:
        """Whether a terminal shows what fails and nothing else: in a hook, which runs often."""
        return self.declared_only and not self.verbose


# --- blocks: what a section is made of ------------------------------------------------------------
# A `tone` is a name that `style.Paint` knows: "dim", "red", "bold", …


class Text(Struct, frozen=True):
    """A paragraph. `indent` stands before its first line, `hang` before the others. A formula is
    broken where formulas can be, verbatim text nowhere."""

    text: str
    tone: str = ""
    indent: str = ""
    hang: str = ""
    kind: Literal["words", "formula", "verbatim"] = "words"


class Parts(Struct, frozen=True):
    """Short remarks beside each other, as pairs of a tone and a text: with a dot between, on as
    many lines as it takes; or, `plain`, with two blanks between, on one line."""

    parts: tuple[tuple[str, str], ...]
    tone: str = ""
    plain: bool = False

    @property
    def text(self) -> str:
        return ("  " if self.plain else " · ").join(text for _, text in self.parts)


class Fact(Struct, frozen=True):
    """`count`, where there is one, stands in a column of numbers; `text` after it, and paragraphs
    `below`."""

    name: str
    text: str = ""
    count: str | None = None
    tone: str = ""
    kind: Literal["words", "formula", "target"] = "words"
    below: tuple[Text, ...] = ()


class Facts(Struct, frozen=True):
    """Names, each with its facts; names in the given tone, after the indent."""

    facts: tuple[Fact, ...]
    tone: str = "dim"
    indent: str = "  "


class Column(Struct, frozen=True):
    """`code` is a name that stands in the source, `source` a line of it, verbatim; `path`,
    `formula` and `words` may go on in further lines, broken as each of them can be. `notes`: those
    below a row stand here, in formats whose rows are one line. `empty`: stands on a terminal also
    where nothing is in it."""

    name: str
    kind: Literal["text", "number", "code", "source", "path", "formula", "words"] = "text"
    tone: str = ""
    notes: bool = False
    empty: bool = False

    @property
    def is_code(self) -> bool:
        """Whether documents other than a terminal's set it as code."""
        return self.kind in ("code", "path", "formula")


class Cell(Struct, frozen=True):
    """`share`: of a whole, given up first where there is no room. `short`: what stands in place of
    the text where a table is narrow. `bar`: a part and its whole, drawn before the text."""

    text: str
    tone: str = ""
    share: str = ""
    short: str = ""
    bar: tuple[int, int] = (0, 0)


class Row(Struct, frozen=True):
    """`mark`: one character before the row. `below`: notes on lines of their own. `rule`: a line
    above it."""

    cells: tuple[Cell | str, ...]
    mark: str = ""
    below: tuple[str, ...] = ()
    rule: bool = False

    @property
    def full(self) -> tuple[Cell, ...]:
        return tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in self.cells)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(cell.text for cell in self.full)


class Step(Struct, frozen=True):
    """A step to make a table narrower: drop a column, use the `short` text of its cells, shorten
    its texts in the middle, or cut them at the end, down to `least` characters, or shorten its bars
    to `least`."""

    what: Literal["drop", "short", "shorten", "cut", "bar"]
    column: str
    least: int = 0


class Table(Struct, frozen=True):
    """`steps` are tried one after the other until the table fits; then `narrow` stands in its
    place. `bands`: columns that do not fit stand in a second table below. `notes`: its last
    lines."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    steps: tuple[Step, ...] = ()
    narrow: Table | None = None
    bands: bool = False
    notes: tuple[str, ...] = ()
    noun: str = "row"

    @property
    def is_source(self) -> bool:
        """Whether lines of source stand in it, which are not to be wrapped or set in proportional
        type."""
        return any(column.kind == "source" for column in self.columns)

    @property
    def filled(self) -> Table:
        """The table without the columns that are empty in every row; the first column always
        stays."""
        texts = [row.texts for row in self.rows]
        filled = [i for i in range(len(self.columns)) if not i or any(text[i] for text in texts)]
        rows = [replace(row, cells=tuple(row.cells[i] for i in filled)) for row in self.rows]
        return replace(self, columns=tuple(self.columns[i] for i in filled), rows=tuple(rows))


class ListingLine(Struct, frozen=True):
    """A line of a listing. `before`, `after` and `delta` stand in columns; `verdict` follows them,
    and `below` stands on a line of its own. Without any count, `verdict` follows the name."""

    mark: str
    name: str
    before: str = ""
    after: str = ""
    delta: str = ""
    verdict: str = ""
    below: str = ""
    tone: str = ""

    @property
    def counted(self) -> bool:
        return bool(self.before or self.after)


class Listing(Struct, frozen=True):
    """Lines about models, below the path of each file; and the same as a table. `reasons`: none
    has a count, and the verdicts stand in a column."""

    files: tuple[tuple[str, tuple[ListingLine, ...]], ...]
    table: Table
    reasons: bool = False

    @classmethod
    def of(
        cls, lines: Iterable[tuple[str, ListingLine]], table: Table, *, reasons: bool = False
    ) -> Listing:
        """From lines with the path of their file each."""
        files: dict[str, list[ListingLine]] = {}
        for path, line in lines:
            files.setdefault(path, []).append(line)
        return cls(tuple((path, tuple(below)) for path, below in files.items()), table, reasons)


Block: TypeAlias = "Text | Parts | Facts | Table | Listing | Modules | ModelBudgets"


# --- the page -------------------------------------------------------------------------------------


class Section(Struct, frozen=True):
    """`lead`: it comes before the findings, in formats that do not have these at the end.
    `closing`: it follows the findings in all formats. `only`: `text` for what a terminal needs
    because it shows less, `page` for what other documents have room for. `fold`: what is folded
    away there, in words before the title. `always`: stands also where only the essential is asked
    for (--quiet). `note`: stands beside the title on a terminal. `picture`: stands before the
    blocks in formats that draw."""

    blocks: tuple[Block, ...]
    title: str = ""
    lead: bool = False
    closing: bool = False
    only: Literal["", "text", "page"] = ""
    fold: str = ""
    always: bool = False
    note: str = ""
    picture: Picture | None = None


class Page(Struct, frozen=True):
    """`mark`: ✓, ✗, !, Δ (changed) or – (nothing declared), before the `headline`; empty where
    there is no verdict to give: then findings stand at the end everywhere. `nothing`: all that
    there is to say on a terminal, where nothing was found. `foot`: what stands small at the end of
    a document (default: `summary`)."""

    sections: tuple[Section, ...] = ()
    mark: str = ""
    headline: str = ""
    nothing: str = ""
    summary: tuple[Parts, ...] = ()
    foot: str = ""

    @property
    def around_findings(self) -> tuple[list[Section], list[Section]]:
        """Of a document that is no terminal, the sections before the findings and those after."""
        shown = [section for section in self.sections if section.only != "text"]
        if not self.mark:
            return shown, []
        return [s for s in shown if s.lead], [s for s in shown if not s.lead]


class FormSource(Struct, frozen=True):
    """A closed form, written for programs: `where` has the conditions under which it holds, and
    `words` these as people say them."""

    where: tuple[str, ...]
    words: tuple[str, ...]
    python: str
    latex: str
    value: int


class FormSources(Struct, frozen=True):
    """The input of the formats `python` and `latex`. `signature`: the parameters of a function,
    with defaults; `about`: the paragraphs of its docstring; `missing`: why a case has no form;
    `modules`: name, LaTeX and value of each part; `symbol`: what stands for the count in LaTeX."""

    forms: tuple[FormSource, ...]
    signature: str
    about: tuple[str, ...]
    missing: tuple[str, ...]
    modules: tuple[tuple[str, str, int], ...]
    symbol: str = "N"


class Document(Struct, frozen=True):
    """`command`: what made it. `data` and `page` are made when a format asks. `error`: why there is
    no answer at all. `report`: the findings, and the models that they are about. `lines`: what is
    said in one line each, `path:line:column: …` where there is a place. `roles_of`: tells a picture
    the roles of its modules."""

    command: str
    data: Callable[[], object]
    page: Callable[[Options], Page]
    error: str | None = None
    report: Report | None = None
    lines: tuple[str, ...] = ()
    forms: Callable[[Options], FormSources] | None = None
    roles_of: RolesOf | None = None
