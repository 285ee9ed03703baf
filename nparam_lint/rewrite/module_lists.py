"""Turns plain lists and dicts of modules (NPL101) into `nn.ModuleList` and similar classes, with
libcst.

Only if the program certainly stays correct: the container is written out in `__init__`, everything
put into it is created on the spot, and it is only used as an `nn.ModuleList` can be used: in the
class, in its file, and in the files that name the class.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst
from msgspec import Struct

from nparam_lint.discover.scan import parse_source
from nparam_lint.discover.syntax import words_in
from nparam_lint.gate.judgements import reported_findings
from nparam_lint.gate.reading import read_source, static_findings
from nparam_lint.gate.rules.nodes import last_name, nodes, plain_name, put_into
from nparam_lint.gate.rules.source_file import SourceFile
from nparam_lint.gate.rules.values import Values
from nparam_lint.rewrite.cst_file import CstFile, Replacements
from nparam_lint.rewrite.edits import FileEdit, Unsafe, edit_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from nparam_lint.config.session import Session
    from nparam_lint.gate.rules.source_file import Class, Method
    from nparam_lint.ground.findings import Finding

CODE = "NPL101"
_READS = frozenset("enumerate len list reversed sum tuple zip".split())
# nn.ModuleDict and nn.ParameterDict take no key that is one of their attributes.
TAKEN = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children clear compile copy cpu
    cuda double dump_patches eval extra_repr float forward fromkeys get get_buffer get_extra_state
    get_parameter get_submodule half ipu items keys load_state_dict modules mtia named_buffers
    named_children named_modules named_parameters parameters pop popitem register_backward_hook
    register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_load_state_dict_post_hook
    register_load_state_dict_pre_hook register_module register_parameter
    register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state
    set_submodule setdefault share_memory state_dict to to_empty train training type update values
    xpu zero_grad
    """.split()
)


class Fixes(Struct, frozen=True):
    """`files`: as they are written; `fixed`: the findings that this fixes; `left`: the others, each
    with the reason."""

    files: tuple[FileEdit, ...] = ()
    fixed: tuple[Finding, ...] = ()
    left: tuple[tuple[Finding, str], ...] = ()


def plan_fixes(session: Session, paths: Sequence[Path], line: int | None = None) -> Fixes:
    """What can be fixed of the findings that a check of `paths` reports; of those in one line, if
    that is given. Writes nothing."""
    source = read_source(session, paths)
    findings = [
        finding
        for finding in reported_findings(static_findings(source), source)
        if finding.code == CODE and line in (None, finding.position.line)
    ]

    def rewrite(name: str, inside: Sequence[Finding]) -> tuple[bytes, bytes, dict[Finding, str]]:
        tree = source.discovery.tree
        others = ((path, tree.source(path)) for path in tree.files if path != name)
        return tree.source(name), *fix(
            tree.source(name), inside, source.discovery.modules(name), others
        )

    placed = [(finding.position.path, finding) for finding in findings]
    files, reasons = edit_files(placed, session, rewrite)
    fixed = tuple(finding for finding in findings if finding not in reasons)
    return Fixes(tuple(files), fixed, tuple(reasons.items()))


def fix(
    source: bytes,
    findings: Sequence[Finding],
    modules: frozenset[str],
    others: Iterable[tuple[str, bytes]] = (),
) -> tuple[bytes, dict[Finding, str]]:
    """The source with those containers registered of which that is safe; the other findings with
    the reason. `modules`: the names of the classes that are an `nn.Module`; `others`: the other
    files of the project."""
    path, others = findings[0].position.path, [*others]
    file = SourceFile(parse_source(path, source), modules)
    classes: dict[tuple[int, int], str] = {}
    reasons: dict[Finding, str] = {}
    for finding in findings:
        try:
            container = _Container(file, finding)
            registered = container.registered()
            container.check_uses_in([(path, source), *others])
            classes |= registered
        except Unsafe as error:
            reasons[finding] = str(error)
    if not classes:
        return source, reasons
    try:
        cst_file = CstFile(source)
        replacements: Replacements = {
            node: partial(_call, classes[start])
            for node, span in cst_file.spans.items()
            if isinstance(node, (cst.List, cst.ListComp, cst.Dict))
            and (start := (span.start.line, span.start.column + 1)) in classes
        }
        if len(replacements) != len(classes):
            raise Unsafe("the changed file would not be the same program")
        program = partial(_program_without_calls, {*classes.values()})
        return cst_file.source_with(replacements, program), reasons
    except Unsafe as error:
        return source, {finding: reasons.get(finding, str(error)) for finding in findings}


def _call(name: str, node: cst.CSTNode) -> cst.CSTNode:
    return cst.Call(cst.parse_expression(name), [cst.Arg(node)])  # type: ignore[arg-type]


def _program_without_calls(names: set[str], tree: ast.Module) -> str:
    """The program without calls of these classes."""
    for node in nodes([tree]):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.Call) and plain_name(value.func) in names and value.args:
                setattr(node, field, value.args[0])
    return ast.dump(tree)


class _Container:
    """The attribute that a finding is about."""

    def __init__(self, file: SourceFile, finding: Finding) -> None:
        self.file, self.values = file, Values(file)
        place = (finding.position.line, finding.position.column)
        qualname = finding.target.partition("::")[2]
        for owner in file.classes_named(qualname):
            for method in owner.methods.values():
                for node in method.nodes:
                    name = method.attribute(node)
                    if name and isinstance(node, ast.Attribute) and file.place(node) == place:
                        self.owner: Class = owner
                        self.name: str = name
                        return
        raise Unsafe("it is no longer where it was found")

    def registered(self) -> dict[tuple[int, int], str]:
        """Where a container begins → the class that it is given to. Raises Unsafe."""
        kinds: set[str] = set()
        containers: list[tuple[ast.expr, Method]] = []
        for method in self.owner.methods.values():
            understood: set[int] = set()
            for node in method.nodes:
                for target, value in self._additions(node, method):
                    understood.add(id(target))
                    if isinstance(node, ast.Assign) and target in node.targets:
                        elements = self._written_elements(value, method)
                        containers.append((value, method))
                        kinds |= {self._kind(item, method) for item in elements}
                    else:
                        kinds.add(self._kind(value, method))
                understood |= {id(use) for use in _harmless_uses(node)}
            for node in method.nodes:
                is_use = isinstance(node, ast.Attribute) and self._is_it(node, method)
                if is_use and id(node) not in understood:
                    line = node.lineno  # type: ignore[attr-defined]
                    raise Unsafe(f"line {line} uses it in a way that may need a plain list or dict")
        is_dict = {isinstance(value, ast.Dict) for value, _ in containers}
        if len(kinds) != 1 or len(is_dict) != 1:
            raise Unsafe("it holds different kinds of things")
        kind = f"{kinds.pop()}{'Dict' if is_dict.pop() else 'List'}"
        return {self.file.place(v): self._class_name(kind, method) for v, method in containers}

    def check_uses_in(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Raises Unsafe where a subclass, or anything that has such a model, may need a list."""
        own, name = self.file.parsed.facts.path, self.owner.qualname.rpartition(".")[2]
        for path, source in files:
            words = words_in(source) if self.name.encode() in source else ()
            if self.name.encode() in words and (path == own or name.encode() in words):
                line = _line_of_use(parse_source(path, source).tree, self.name, name)
                if line:
                    place = f"line {line}" if path == own else f"{path}:{line}"
                    raise Unsafe(f"{place} uses it in a way that may need a plain list or dict")

    def _additions(self, node: ast.AST, method: Method) -> Iterator[tuple[ast.expr, ast.expr]]:
        """What the attribute is assigned, and what is put into it in a way that is understood."""
        if isinstance(node, ast.Assign):
            yield from ((t, node.value) for t in node.targets if self._is_it(t, method))
        for holder, value in put_into(node):
            by_key = isinstance(node, ast.Assign) and all(
                isinstance(target, ast.Subscript) and _is_plain_key(target.slice)
                for target in node.targets
            )
            appended = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".append")
            if self._is_it(holder, method) and (by_key or appended):
                yield holder, value

    def _is_it(self, node: ast.AST, method: Method) -> bool:
        return method.attribute(node) == self.name

    def _written_elements(self, value: ast.expr, method: Method) -> list[ast.expr]:
        """Those of a container that is written out in `__init__`. Raises Unsafe for another."""
        if isinstance(value, ast.Dict):
            if not all(_is_plain_key(key) for key in value.keys):
                raise Unsafe("nn.ModuleDict does not take all of its keys")
            elements = value.values
        elif isinstance(value, (ast.List, ast.ListComp)):
            elements = value.elts if isinstance(value, ast.List) else [value.elt]
        else:
            raise Unsafe(f"line {value.lineno} does not assign a list or dict that is written out")
        body = method.node.body
        calls = [s for s in body if isinstance(s, ast.Expr) and "__init__(" in ast.unparse(s)]
        if method.node.name != "__init__" or not calls or calls[0].lineno >= value.lineno:
            raise Unsafe("it is not created in __init__, after super().__init__()")
        return elements

    def _kind(self, value: ast.expr, method: Method) -> str:
        creation = self.values.made(value, method)
        if creation is None or creation.frozen:
            raise Unsafe(f"line {value.lineno} may add something that must not be registered")
        return creation.kind.capitalize()

    def _class_name(self, kind: str, method: Method) -> str:
        """The class as the file can call it."""
        for name in (kind, f"nn.{kind}", f"torch.nn.{kind}"):
            head = name.partition(".")[0]
            is_bound = self.file.imports(head) and head not in method.bindings
            if is_bound and self.file.outside(name) == f"torch.nn.{kind}":
                return name
        raise Unsafe(f"the file does not import nn.{kind}")


def _line_of_use(tree: ast.Module, name: str, owner: str) -> int:
    """A line that uses an attribute of this name as an nn.ModuleList cannot be used, but for the
    class `owner` itself, and what other classes than its subclasses have of that name; 0: none."""
    family, passed_over = {owner}, set[int]()
    for node in nodes([tree]):
        if isinstance(node, ast.ClassDef):
            is_derived = not family.isdisjoint(map(last_name, node.bases))
            family |= {node.name} if is_derived else set()
            for below in nodes(node.body):
                is_own = isinstance(below, ast.Attribute) and plain_name(below.value) == "self"
                if is_own and (node.name == owner or not is_derived):
                    passed_over.add(id(below))
        passed_over |= {id(use) for use in _harmless_uses(node)}
    return next(
        (
            node.lineno
            for node in nodes([tree])
            if isinstance(node, ast.Attribute) and node.attr == name and id(node) not in passed_over
        ),
        0,
    )


def _is_plain_key(node: ast.expr | None) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.isidentifier()
        and node.value not in TAKEN
        and not node.value.startswith("_")
    )


def _harmless_uses(node: ast.AST) -> Iterator[ast.expr]:
    """What a node reads in a way that nn.ModuleList and nn.ModuleDict allow too."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.iter
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Call):
        if plain_name(node.func) in _READS:
            yield from node.args
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "keys", "values"):
            yield node.func.value
