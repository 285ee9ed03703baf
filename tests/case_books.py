"""Books of models, and of what is told of each.

What is below a line `===== net.py` stands in that file, after what stands there already. Below
`===== net.py::Net`, or `net.py::Net(Base)`, is a case: what the constructor of that class does once
its base is made; if it returns something, it is a function of that name. `===== each net.py` begins
a template: each item below it is a case, whose text takes the place of `{case}`, a second one that
of `{more}`, and its number that of `{n}`; `===== case` is a longer one. The model of such a case is
`Net` of its own file, or `Net{n}`. `#####` begins a heading.

`→` is before the answer: to what is above, or to the item before it in the line, which is a call in
the file above, or a whole target; a dictionary after it: to an order with these fields. Cases
without an answer have that of the next one. `…` stands for anything, and `or:` is before another
answer that is as good. `pytest --update` writes the answers that are others now, to be reviewed.

In a book of projects each case is a project of its own: the files at the head of the book; those
below its heading, which stand in place of these; and that of the template, which may stand at the
head, too. An answer without a case is to the files alone. Text that stands below a heading or an
answer needs no `===== case`. Where there is no template, a case is what is asked of the files. `␍`
is a carriage return, `␀` a zero, and `�` a byte that is no text.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

_BLOCK = re.compile(r"===== (each |case)?([^: ]*)(?:::(\w+)(?:\((\S+)\))?)?")
_END = re.compile(r"===== \S|- `|- \{|→ |#####")  # of a block
_HEADING = "##### "
_BYTES = {"␍": b"\r", "␀": b"\0", "�": b"\xff"}
_ITEM = re.compile(r"(?:- (?:`(.*?)`(?:, `(.+?)`)?)? ?(\{.*\})?)?(?: ?→ (.*))?")


@dataclass
class Case:
    """A model; or a project, of which something may be `asked`: `files`, some of them those
    `at_head`, and one of a `template`. `answer`: that of the lines of the book from `start` to
    `end`."""

    target: str
    number: int
    options: dict[str, Any] = field(default_factory=dict)
    is_of_template: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    at_head: set[str] = field(default_factory=set)
    template: str = ""
    asked: str = ""
    answer: str = ""
    start: int = 0
    end: int = 0

    @property
    def name(self) -> str:
        return self.target.partition("::")[2]

    def is_answered_by(self, text: str) -> bool:
        text = self.without_number(text)
        patterns = (re.escape(part).replace("…", ".*") for part in self.answer.split("\nor: "))
        return any(re.fullmatch(pattern, text, re.DOTALL) for pattern in patterns)

    def without_number(self, text: str) -> str:
        if not self.is_of_template:
            return text
        return re.sub(rf"\b(Net|[a-z]+(?=\d+\.py)){self.number}\b", r"\1{n}", text)


class Book:
    """`files`: what is in each; `cases`, by their numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = self.path.read_text("utf-8").split("\n")
        self.files: dict[str, str] = {}
        self.cases: list[Case] = []
        self._others: dict[tuple[int, int], str] = {}
        self._file = self._template = ""
        self._answered = start = 0
        while start < len(self.lines):
            end = start + 1
            if self.lines[start].startswith(_HEADING):
                self._take_heading(self.lines[start].removeprefix(_HEADING))
            elif block := _BLOCK.fullmatch(self.lines[start]):
                while end < len(self.lines) and not _END.match(self.lines[end]):
                    end += 1
                text = "\n".join(self.lines[start + 1 : end])
                self._take_block(*block.groups(), text.strip("\n") + "\n")
            elif item := _ITEM.fullmatch(self.lines[start]):
                while end < len(self.lines) and self.lines[end].startswith("  "):
                    end += 1
                self._take_item(*item.groups(), start, end)
            else:
                while end < len(self.lines) and not _END.match(self.lines[end]):
                    end += 1
                self._take_text("\n".join(self.lines[start:end]).strip("\n"))
            start = end

    def _take_heading(self, text: str) -> None:
        """Those of books of models are for readers."""

    def _take_text(self, text: str) -> None:
        """Which is for readers, too."""

    def _take_block(
        self, kind: str | None, file: str, name: str | None, base: str | None, text: str
    ) -> None:
        if kind == "case":
            self._add_case(text.rstrip("\n"), "")
            return
        self._file, self._template = file, ""
        if kind:
            self._template = text
            return
        if name:
            body = text.rstrip("\n")
            text = model_source(name, body, base or "nn.Module")
            if re.search("^ *return ", body, re.MULTILINE):
                text = f"\n\ndef {name}():\n{indent(body, ' ' * 4)}\n"
            self.cases.append(Case(f"{file}::{name}", len(self.cases)))
        self.files[file] = self.files.get(file, "") + text

    def _add_case(self, text: str, more: str) -> None:
        number = len(self.cases)
        file = self._file.replace("{n}", str(number))
        source = self._template.replace("{case}", text).replace("{more}", more)
        self.files[file] = self.files.get(file, "") + source.replace("{n}", str(number))
        name = "Net" if "{n}" in self._file else f"Net{number}"
        self.cases.append(Case(f"{file}::{name}", number, is_of_template=True))

    def _take_item(
        self,
        text: str | None,
        more: str | None,
        options: str | None,
        answer: str | None,
        start: int,
        end: int,
    ) -> None:
        if text is None and answer is None:
            return  # between blocks
        if text is None:
            self.cases[-1].options = ast.literal_eval(options or "{}")
        elif self._template and not self._is_target(text):
            self._add_case(text, more or "")
        else:
            self._ask(text, options or "{}")
        if answer is not None:
            lines = [answer, *(line[2:] for line in self.lines[start + 1 : end])]
            for case in self.cases[self._answered :]:
                case.answer, case.start, case.end = "\n".join(lines), start, end
            self._answered = len(self.cases)

    def _is_target(self, text: str) -> bool:
        return "::" in text

    def _ask(self, target: str, options: str) -> None:
        target = target if "::" in target else f"{self._file}::{target}"
        target = target.replace("{n}", str(len(self.cases) - 1))
        self.cases.append(Case(target, len(self.cases), ast.literal_eval(options)))

    def check(self, number: int, text: str, *, update: bool) -> None:
        """Fails unless a case is answered by this text; with `update` the book is then written."""
        case = self.cases[number]
        if case.is_answered_by(text):
            return
        self._others[case.start, case.end] = case.without_number(text)
        if update:
            lines = [*self.lines]
            for (start, end), other in sorted(self._others.items(), reverse=True):
                found = _ITEM.fullmatch(self.lines[start])
                head = self.lines[start][: found.start(4)] if found else ""
                lines[start:end] = f"{head}{other}".replace("\n", "\n  ").split("\n")
            self.path.write_text("\n".join(lines), "utf-8")
        texts = case.answer.splitlines(), case.without_number(text).splitlines()
        lines = unified_diff(*texts, "book", "now", n=99, lineterm="")
        raise AssertionError("\n".join([case.target, *lines]))


class ProjectBook(Book):
    """`head`: the files of all cases; `cases`: projects, each called after its heading."""

    def __init__(self, path: Path) -> None:
        self.head: dict[str, str] = {}
        self._heading, self._at_head = "", ("", "")
        super().__init__(path)
        names = [case.target for case in self.cases]
        for number, case in enumerate(self.cases):
            if names.count(case.target) > 1:
                case.target += f"_{names[: number + 1].count(names[number])}"

    def _take_heading(self, text: str) -> None:
        if not self._heading:
            self.head, self._at_head = self.files, (self._file, self._template)
        self._heading = re.sub(r"\W+", "_", text.lower()).strip("_")
        self.files, (self._file, self._template) = {}, self._at_head

    def _take_block(self, kind: str | None, file: str, *more: str | None) -> None:
        text = (more[-1] or "").lstrip("\n")
        if kind and file:
            self._file, self._template = file, text
        elif kind:
            self._add_case(text.rstrip("\n"), "")
        else:
            self.files[file] = text

    def _take_text(self, text: str) -> None:
        if self._heading:
            self._add_case(text, "")

    def _add_case(self, text: str, more: str) -> None:
        if not self._template:
            self._ask(text)
            return
        source = self._template.replace("{case}", text).replace("{more}", more)
        self._add_project({self._file: source})

    def _is_target(self, _: str) -> bool:
        return False

    def _ask(self, target: str, *_: str) -> None:
        self._add_project({}, target)

    def _take_item(
        self, text: str | None, more: str | None, options: str | None, answer: str | None, *at: int
    ) -> None:
        if text is None and answer is not None and self._answered == len(self.cases):
            self._add_project({})
        super()._take_item(text, more, options, answer, *at)

    def _add_project(self, more: dict[str, str], asked: str = "") -> None:
        case = Case(self._heading, len(self.cases), template="".join(more), asked=asked)
        case.at_head = self.head.keys() - self.files.keys() - more.keys()
        for path, text in {**self.head, **self.files, **more}.items():
            parts = re.split(f"([{''.join(_BYTES)}])", text)
            case.files[path] = b"".join(_BYTES.get(part) or part.encode() for part in parts)
        self.cases.append(case)


def cases_beside(test_file: str, folder: str) -> list[ParameterSet]:
    """A parameter for each case of the books of projects in a folder beside a file of tests: its
    book, and the case."""
    books = map(ProjectBook, sorted(Path(test_file).with_name(folder).glob("*.txt")))
    return [
        pytest.param(book, case, id=f"{book.path.stem}-{case.target}")
        for book in books
        for case in book.cases
    ]


def class_source(name: str, constructor: str, base: str = "nn.Module") -> str:
    """A class whose constructor does this."""
    body = indent(constructor, " " * 8)
    return f"\n\nclass {name}({base}):\n    def __init__(self):\n{body}\n"


def model_source(name: str, made: str, base: str = "nn.Module") -> str:
    """A class that makes this once its base is made."""
    return class_source(name, f"super().__init__()\n{made}", base)
