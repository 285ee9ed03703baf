"""The language server: what the editor asks, and what it is told.

Requests are answered from what the last check of a file found; checks run in the thread of
`Builds`. Nothing but this folder imports pygls and lsprotocol.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from nparam_lint.api.editor import actions, completion
from nparam_lint.api.editor.answers import FileAnswer, check_around, check_file, read_lines
from nparam_lint.api.editor.builds import LATER, Builds
from nparam_lint.api.editor.diagnostics import Board, diagnostic
from nparam_lint.api.editor.line_notes import FileNotes, finding_text, label, line_text
from nparam_lint.api.editor.trust import HOW, Trust
from nparam_lint.count import resident
from nparam_lint.discover.files import CONFIGS
from nparam_lint.ground.errors import UsageError, defect
from nparam_lint.ground.lines import lines_of
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.rule_catalogue import RULES, rule_page
from nparam_lint.ground.temporary import make_directory, remove_directory
from nparam_lint.ground.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pygls.workspace import PositionCodec

    from nparam_lint.config.session import Progress

TRUST, RULE = "nparam-lint.trust", actions.RULE
RESIDENT = "15m"  # how long the process that holds torch stays without a check
_MODEL = late_pattern(r"class \w+\(.*Module")
_KINDS = {
    "metric": types.CompletionItemKind.Keyword,
    "module": types.CompletionItemKind.Field,
    "count": types.CompletionItemKind.Value,
    "budget": types.CompletionItemKind.Snippet,
}


class EditorServer(LanguageServer):
    """What is known of the files that are open, by their paths."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__("nparam-lint", __version__)
        self.environ = {"NPARAM_LINT_RESIDENT": RESIDENT, **environ}
        resident.end_with_this_process()
        self.trust = Trust()
        self.board = Board()
        self.builds = Builds(
            partial(self._later, self._show_progress),
            partial(self._later, self._end_progress),
            self._failed,
        )
        self.notes: dict[Path, FileNotes] = {}
        self.open: dict[Path, str] = {}  # and the names by which the editor knows them
        self.messages: set[str] = set()
        self.token: str | None = None  # of the progress that is shown
        self.pages = make_directory("nparam-lint-rules-")
        self.loop: asyncio.AbstractEventLoop | None = None
        self.was_shut_down = False

    def close(self) -> None:
        """End the builds, and remove what was written for the editor."""
        self.loop = None
        self.builds.close()
        remove_directory(self.pages)

    # --- checks -------------------------------------------------------------------------------

    def check(self, path: Path, rank: int = 1) -> None:
        """Check a file soon, after those of a lower rank."""
        builds, folder = self.trust.covers(path), self.trust.folder_of(path)
        if folder and not builds:
            self.say(HOW.format(folder=folder), types.MessageType.Info)

        def work(progress: Progress) -> None:
            is_inside = folder is not None
            answer = check_file(path, self.environ, progress, builds=builds, inside=is_inside)
            if not self.builds.is_stale:
                self._later(self._show, path, answer)

        self.builds.want(("file", path), work, rank)

    def check_around(self, path: Path) -> None:
        """Check what is open of the project of a file, and what depends on it."""
        if not self.trust.covers(path) or path not in self.notes:
            return
        root = self.notes[path].answer.session.root
        inside = [p for p, notes in self.notes.items() if notes.answer.session.root == root]
        paths = [path, *(p for p in inside if p != path and self.trust.covers(p))]

        def work(progress: Progress) -> None:
            findings = check_around(paths, self.environ, progress)
            if findings is not None and not self.builds.is_stale:
                self._later(lambda: self._publish(self.board.replace(root, findings)))

        self.builds.want(("around", root), work, LATER)

    def check_saved(self, path: Path) -> None:
        """A file was saved: what was found before may be wrong."""
        if notes := self.notes.get(path):
            self.builds.drop(("around", notes.answer.session.root))
        self.check_open(first=path)

    def check_open(self, first: Path | None = None) -> None:
        """Check all that is open: what one file says, the models of others may depend on."""
        for path in self.open:
            if path.suffix == ".py":
                self.check(path, 1 if path == first else 2)

    def _show(self, path: Path, answer: FileAnswer) -> None:
        if path not in self.open:
            return
        before = self.notes.get(path)
        self.notes[path] = FileNotes(answer)
        findings = answer.report.findings
        is_config = any(not finding.code for finding in findings)
        owner = None if is_config else answer.place
        if answer.report.error:
            self.say(answer.report.error, types.MessageType.Warning)
        self._publish({path, *self.board.replace(answer.session.root, findings, owner)})
        if self.can("workspace.inlay_hint.refresh_support"):
            self.workspace_inlay_hint_refresh(None)
        if self.can("workspace.code_lens.refresh_support"):
            self.workspace_code_lens_refresh(None)
        if before is not None and before.answer.text != answer.text:
            self.check_around(path)

    def _failed(self, error: Exception) -> None:
        text = f"nparam-lint goes on with the next edit after {defect(error)}"
        self._later(self.say, text, types.MessageType.Error)

    def _show_progress(self, done: int, every: int, label: str) -> None:
        if not self.can("window.work_done_progress"):
            return
        shown, text = self.work_done_progress, f"{done}/{every}  {label}"
        if self.token is None:
            token = self.token = f"nparam-lint-{uuid4()}"

            def begin(_: None) -> None:
                shown.begin(token, types.WorkDoneProgressBegin("nparam-lint", message=text))
                if self.token != token:  # it has come to its end meanwhile
                    shown.end(token, types.WorkDoneProgressEnd())

            shown.create(token, begin)
        elif shown.tokens.get(self.token):
            shown.report(self.token, types.WorkDoneProgressReport(message=text))

    def _end_progress(self) -> None:
        token, self.token = self.token, None
        if token and self.work_done_progress.tokens.get(token):
            self.work_done_progress.end(token, types.WorkDoneProgressEnd())

    def _later(self, function: Any, *arguments: Any) -> None:
        """Call a function in the thread of the event loop, unless that has ended."""
        if self.loop is not None:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(function, *arguments)

    # --- what is told without being asked -------------------------------------------------------

    def can(self, what: str) -> Any:
        """What the editor says of something that it may be able to do; None where it is silent."""
        capability: Any = self.client_capabilities
        for name in what.split("."):
            capability = getattr(capability, name, None)
        return capability

    def say(self, text: str, kind: types.MessageType) -> None:
        """Show a message, once."""
        if text not in self.messages:
            self.messages.add(text)
            self.window_show_message(types.ShowMessageParams(kind, text))

    def _publish(self, paths: set[Path]) -> None:
        for path in paths:
            lines = read_lines(path)
            shown = [
                diagnostic(finding, root, lines, self.codec, self.page_of)
                for root, finding in self.board.of(path)
            ]
            uri = self.open.get(path, path.as_uri())
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown))

    @property
    def codec(self) -> PositionCodec:
        return self.workspace.position_codec

    def page_of(self, code: str) -> str | None:
        """Where the page of a rule is, which is written when it is first asked for."""
        page = Path(self.pages, f"{code}.md")
        if code not in RULES:
            return None
        if not page.exists():
            page.write_text(rule_page(code), encoding="utf-8")
        return page.as_uri()

    # --- what is open ---------------------------------------------------------------------------

    def buffer(self, path: Path) -> tuple[str, int] | None:
        """The text and the version of what is open of a file."""
        uri = self.open.get(path)
        document = self.workspace.get_text_document(uri) if uri else None
        return (document.source, document.version or 0) if document else None

    def placed(self, uri: str) -> tuple[Path, FileNotes, dict[int, int]] | None:
        """A file, its notes, and where their lines stand in its buffer."""
        path = path_of(uri)
        notes, now = path and self.notes.get(path), path and self.buffer(path)
        return (path, notes, notes.shifted(lines_of(now[0]))) if path and notes and now else None


def path_of(uri: str) -> Path | None:
    """The file that an editor means; None for what is no file."""
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(os.path.abspath(name)) if name else None


def make_server(environ: Mapping[str, str]) -> EditorServer:
    """The server with all that it can be asked."""
    sys.setswitchinterval(0.0005)  # seconds: the editor waits for one thread, not for the other
    server = EditorServer(environ)
    for register in (_lifecycle, _documents, _notes, _offers, _completion):
        register(server)
    return server


def _lifecycle(server: EditorServer) -> None:
    def take_folders() -> None:
        folders = [path_of(folder.uri) for folder in server.workspace.folders.values()]
        root = server.workspace.root_uri
        folders += [path_of(root)] if root and not folders else []
        server.trust.folders = tuple(folder for folder in folders if folder)

    def take_settings(settings: Any) -> None:
        if wrong := server.trust.read(settings):
            server.say(wrong, types.MessageType.Error)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.loop = asyncio.get_running_loop()
        take_folders()
        take_settings(params.initialization_options)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        if server.can("workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher(f"**/{name}") for name in ("*.py", *CONFIGS)]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            name = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("nparam-lint-files", name, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(params: types.DidChangeConfigurationParams) -> None:
        take_settings(params.settings)
        server.check_open()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(_: types.DidChangeWorkspaceFoldersParams) -> None:
        take_folders()
        server.check_open()

    @server.command(TRUST)
    def trust() -> None:
        server.trust.all_open = True
        server.check_open()

    @server.feature(types.SHUTDOWN)
    def shut_down(_: None) -> None:
        server.was_shut_down = True
        server.close()


def _documents(server: EditorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        if path := path_of(params.text_document.uri):
            server.open[path] = params.text_document.uri
            if path.suffix == ".py":
                server.check(path)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        if path := path_of(params.text_document.uri):
            server.check_saved(path)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := path_of(change.uri))]
        news = [path for path in paths if path not in server.open]
        if news:  # what is open tells itself when it is saved
            server.check_open()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is None or path not in server.open:
            return
        del server.open[path]
        server.builds.drop(("file", path))
        if notes := server.notes.pop(path, None):
            answer = notes.answer
            server._publish(server.board.replace(answer.session.root, (), answer.place))


def _notes(server: EditorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        placed = server.placed(params.text_document.uri)
        if placed is None:
            return []
        _, notes, now = placed
        first, last = params.range.start.line + 1, params.range.end.line + 1
        hints = []
        for line, models in notes.lines.items():
            if first <= now.get(line, 0) <= last:
                text = notes.answer.text[line - 1].rstrip()
                place = types.Position(now[line] - 1, server.codec.client_num_units(text))
                more = types.MarkupContent(types.MarkupKind.Markdown, line_text(notes, line))
                hints.append(
                    types.InlayHint(place, label(*models[0]), tooltip=more, padding_left=True)
                )
        return hints

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions())
    def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        placed = server.placed(params.text_document.uri)
        if placed is None:
            return []
        path, notes, now = placed
        commands = {
            now[line]: types.Command(note.title, "")
            for line, note in notes.definitions.items()
            if line in now
        }
        if not notes.answer.is_built and server.trust.folder_of(path):
            is_model = (n for n, text in enumerate(notes.answer.text, 1) if _MODEL.match(text))
            if line := now.get(next(is_model, 0)):
                title = "not counted: that would run this folder's code · trust it"
                commands[line] = types.Command(title, TRUST)
        starts = ((types.Position(n - 1, 0), command) for n, command in sorted(commands.items()))
        return [types.CodeLens(types.Range(start, start), command) for start, command in starts]

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        placed = server.placed(params.text_document.uri)
        if placed is None:
            return None
        path, notes, now = placed
        lines = {there: line for line, there in now.items()}
        number = lines.get(params.position.line + 1, 0)
        findings = [f for _, f in server.board.of(path) if f.position.line == number]
        texts = [*map(finding_text, findings), line_text(notes, number)]
        text = "\n\n".join(text for text in texts if text)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


def _offers(server: EditorServer) -> None:
    def edited(data: Mapping[str, Any], progress: Progress) -> types.WorkspaceEdit:
        files = actions.plan(data, server.environ, progress)
        versions = bool(server.can("workspace.workspace_edit.document_changes"))
        return actions.workspace_edit(files, server.buffer, server.codec, versions=versions)

    def here(params: types.CodeActionParams) -> Iterator[types.CodeAction]:
        placed = server.placed(params.text_document.uri)
        if placed is None:
            return
        path, notes, now = placed
        lines = {there: line for line, there in now.items()}
        span = range(params.range.start.line + 1, params.range.end.line + 2)
        numbers = {lines[number] for number in span if number in lines}
        definition = next((notes.definitions[n] for n in numbers if n in notes.definitions), None)
        text, codec = notes.answer.text, server.codec
        shown = {
            finding: diagnostic(finding, root, text, codec, server.page_of)
            for root, finding in server.board.of(path)
            if finding.position.line in numbers
        }
        yield from actions.offers(notes.answer, path, shown, definition)
        for code in dict.fromkeys(finding.code for finding in shown if finding.code):
            title = f"Explain {code}: {RULES[code].name}"
            command = types.Command(title, RULE, arguments=[code])
            alike = [diagnosis for finding, diagnosis in shown.items() if finding.code == code]
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, alike, command=command)

    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite]
    options = types.CodeActionOptions(kinds, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def offered(params: types.CodeActionParams) -> list[types.CodeAction]:
        offers = [*here(params)]
        if kinds := params.context.only:
            prefixes = tuple(f"{_name_of(kind)}." for kind in kinds)
            offers = [o for o in offers if f"{_name_of(o.kind)}.".startswith(prefixes)]
        if "edit" not in (server.can("text_document.code_action.resolve_support.properties") or ()):
            offers = [await resolved(offer) for offer in offers]
        return [offer for offer in offers if offer.data or offer.edit or offer.command]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolved(action: types.CodeAction) -> types.CodeAction:
        if action.data:
            data = action.data
            try:
                work = server.builds.ask(lambda progress: edited(data, progress))
                action.edit = await asyncio.wrap_future(work)
            except UsageError as error:
                server.window_show_message(
                    types.ShowMessageParams(types.MessageType.Warning, str(error))
                )
            action.data = None
        return action

    @server.command(RULE)
    async def open_rule(code: str) -> None:
        page = server.page_of(code)
        if page and server.can("window.show_document.support"):
            await server.window_show_document_async(types.ShowDocumentParams(page))
        elif page:
            text = rule_page(code)
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))


def _name_of(kind: types.CodeActionKind | str | None) -> str:
    return str(getattr(kind, "value", kind))


def _completion(server: EditorServer) -> None:
    options = types.CompletionOptions(trigger_characters=["[", ",", ":", " ", "."])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        path = path_of(params.text_document.uri)
        notes, now = path and server.notes.get(path), path and server.buffer(path)
        if not notes or not now:
            return []
        answer, lines = notes.answer, lines_of(now[0])
        at = server.codec.position_from_client_units(lines, params.position)
        before, above = lines[at.line][: at.character], lines[: at.line]
        proposals = completion.proposals(before, above, answer.place, answer.report.models)
        return [
            types.CompletionItem(
                proposal.text,
                kind=_KINDS[proposal.kind],
                detail=proposal.note,
                sort_text=f"{number:05}",
                filter_text=proposal.text,
                text_edit=types.TextEdit(
                    types.Range(
                        types.Position(
                            at.line, server.codec.client_num_units(before[: proposal.start])
                        ),
                        params.position,
                    ),
                    proposal.text,
                ),
            )
            for number, proposal in enumerate(proposals)
        ]
