"""What an editor offers to do about a budget or a finding. Nothing is written here: each edit is
handed to the editor, which applies it, and can take it back."""

from __future__ import annotations

import difflib
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec.structs import replace

from nparam_lint.api.editor.answers import FileAnswer, session_of
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.lines import lines_of
from nparam_lint.ground.notation import parse_selector, parse_target
from nparam_lint.rewrite import budget_updates, new_budgets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pygls.workspace import PositionCodec

    from nparam_lint.api.editor.line_notes import DefinitionNote
    from nparam_lint.config.session import Progress
    from nparam_lint.ground.findings import Finding
    from nparam_lint.rewrite.edits import FileEdit

    Buffer = Callable[[Path], tuple[str, int] | None]  # text and version of what is open

UPDATE, DECLARE, RULE = "update", "declare", "nparam-lint.rule"


def offers(
    answer: FileAnswer,
    path: Path,
    shown: Mapping[Finding, types.Diagnostic],
    definition: DefinitionNote | None,
) -> Iterator[types.CodeAction]:
    """What can be done about findings, and about a definition without a budget; the data of each
    is what `plan` has to know of it."""
    for finding, diagnosis in shown.items():
        result = finding.result
        if finding.code != "NPL001" or not result or result.actual is None:
            continue
        name = finding.target.partition("::")[2] or finding.target
        title = f"Update the budget of {name}: it has {result.actual:,}"
        target, selector = finding.target, result.selector
        data = {"do": UPDATE, "path": str(path), "target": target, "selector": selector}
        kind = types.CodeActionKind.QuickFix
        yield types.CodeAction(title, kind, [diagnosis], is_preferred=True, data=data)
    if definition and definition.models and not definition.is_declared and answer.is_built:
        title = f"Declare a budget for {definition.target.partition('::')[2]}"
        data = {"do": DECLARE, "path": str(path), "target": definition.target}
        yield types.CodeAction(title, types.CodeActionKind.RefactorRewrite, data=data)


def plan(
    data: Mapping[str, Any], environ: Mapping[str, str], progress: Progress
) -> tuple[FileEdit, ...]:
    """The files as an offer changes them. Raises UsageError where it cannot be done."""
    path = Path(data["path"])
    session = replace(session_of(path, environ).session, progress=progress)
    if data["do"] == UPDATE:
        target, selector = parse_target(data["target"]), parse_selector(data["selector"])
        request = budget_updates.UpdateRequest(str(target), target.location, target, selector)
        changes = budget_updates.plan_update(session, [request])
    else:
        wishes = new_budgets.Wishes(every=True, only=data["target"])
        changes = new_budgets.plan_init(session, [path], wishes)
    if not changes.files:
        reasons = changes.error or "; ".join(leftover.reason for leftover in changes.leftovers)
        raise UsageError(f"nothing was changed: {reasons or 'it has been done already'}")
    return changes.files


# --- for the editor ---


def workspace_edit(
    files: Sequence[FileEdit], buffer: Buffer, codec: PositionCodec, *, versions: bool
) -> types.WorkspaceEdit:
    """The edits, line by line. `buffer`: what is open of a file; `versions`: whether the editor
    takes edits of a version. Raises UsageError for a file with changes that are not saved."""
    changes: dict[str, Sequence[types.TextEdit]] = {}
    documents: list[Any] = []
    for file in files:
        uri = file.path.as_uri()
        old, new = (file.old or b"").decode("utf-8"), file.new.decode("utf-8")
        is_open = buffer(file.path)
        if is_open and lines_of(is_open[0]) != lines_of(old):
            raise UsageError(f"{file.name} has changes that are not saved; next: save it")
        edits = changes[uri] = [*_edits(old, new, codec)]
        if file.old is None:
            documents.append(types.CreateFile(uri))
        version = is_open[1] if is_open else None
        document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        documents.append(types.TextDocumentEdit(document, edits))
    if versions:
        return types.WorkspaceEdit(document_changes=documents)
    return types.WorkspaceEdit(changes)


def _edits(old: str, new: str, codec: PositionCodec) -> Iterator[types.TextEdit]:
    """The least that turns one text into the other, in whole lines."""
    before, after = ([*StringIO(text, newline="")] for text in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)

    def place(line: int) -> types.Position:
        if line < len(before) or old.endswith(("\n", "\r")) or not before:
            return types.Position(line, 0)
        return types.Position(line - 1, codec.client_num_units(before[-1]))

    for kind, start, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            where = types.Range(place(start), place(end))
            yield types.TextEdit(where, "".join(after[first:last]))
