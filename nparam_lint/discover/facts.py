"""What is known of one source file by itself: what a scan finds, and the next run remembers."""

from __future__ import annotations

from dataclasses import dataclass, field

from nparam_lint.records import DocLine, Parameter, Problem  # noqa: TC001  # msgspec asks for them


@dataclass(frozen=True, slots=True)
class Import:
    """One name bound by an import. `name` is None for `import module` and "*" for everything."""

    module: str
    level: int
    name: str | None
    bound: str


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """`declares`: its docstring holds a budget. `returned`: dotted names of what is called to make
    the returned values. `hands_back`: a required parameter is returned. `takes` and `gives`: dotted
    names of the classes with which the required parameters and the returned value are annotated.
    `imports`: made inside."""

    name: str
    line: int
    column: int
    parameters: tuple[Parameter, ...]
    decorators: tuple[str, ...] = ()
    docstring: tuple[DocLine, ...] = ()
    declares: bool = False
    returned: tuple[str, ...] = ()
    hands_back: bool = False
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """`declares`: its docstring, or that of its `__init__`, holds a budget. `init`: its own
    `__init__`. `fields`: the dataclass fields that its constructor takes; None when it is no
    dataclass. `abstract`: it cannot be instantiated."""

    qualname: str
    line: int
    column: int
    bases: tuple[str, ...]
    decorators: tuple[str, ...] = ()
    docstring: tuple[DocLine, ...] = ()
    declares: bool = False
    init: FunctionFacts | None = None
    fields: tuple[Parameter, ...] | None = None
    abstract: bool = False


@dataclass(frozen=True, slots=True)
class FileFacts:
    """`aliases`: module-level `X = dotted.name`. `exports`: `__all__`. `names`: all that the top
    level binds. A file with a `problem` has nothing else; `fleeting`: the problem may lie in the
    state of this process or machine, and not in the file. `suspect`: whether a rule may find
    something in the source; None where the rules have not looked at it."""

    path: str
    imports: tuple[Import, ...] = ()
    classes: tuple[ClassFacts, ...] = ()
    functions: tuple[FunctionFacts, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    exports: frozenset[str] | None = None
    names: frozenset[str] = field(default_factory=frozenset)
    problem: Problem | None = None
    fleeting: bool = False
    suspect: bool | None = None
