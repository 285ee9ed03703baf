"""An editor for tests: a real client that speaks with `nparam-lint lsp` over its standard input."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from lsprotocol import types
from pytest_lsp import client_capabilities
from pytest_lsp.client import make_test_lsp_client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WHOLE = types.Range(types.Position(0, 0), types.Position(10**6, 0))


class Editor:
    """What somebody does in an editor, and what is then to be seen."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.client = make_test_lsp_client()
        self.texts: dict[Path, str] = {}
        self.version = 0
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(self._registered)
        self.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda _: None)

    @staticmethod
    def _registered(_: types.RegistrationParams) -> None:
        """Its capabilities, which tests give themselves, say that it watches files."""

    async def start(self, *folders: Path, settings: object = None) -> types.InitializeResult:
        command = (sys.executable, "-m", "nparam_lint", "lsp")
        await self.client.start_io(*command, env=self.environ)
        return await self.client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities("visual-studio-code"),
                workspace_folders=[types.WorkspaceFolder(f.as_uri(), f.name) for f in folders],
                initialization_options=settings,
            )
        )

    async def stop(self) -> None:
        await self.client.shutdown_session()

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.client._server

    @property
    def messages(self) -> list[str]:
        return [one.message for one in self.client.messages]

    async def until(self, condition: Callable[[], object], seconds: float = 60) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not condition():
            assert asyncio.get_running_loop().time() < deadline, self.client.diagnostics
            await asyncio.sleep(0.02)

    # --- files ---

    async def open(self, path: Path) -> None:
        """Open a file, and wait until it has been checked."""
        self.texts[path] = path.read_text("utf-8")
        item = types.TextDocumentItem(path.as_uri(), "python", 0, self.texts[path])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self.until(lambda: path.as_uri() in self.client.diagnostics)

    def close(self, path: Path) -> None:
        del self.texts[path]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.named(path)))

    def edit(self, path: Path, text: str) -> None:
        self.version += 1
        self.texts[path] = text
        document = types.VersionedTextDocumentIdentifier(self.version, path.as_uri())
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def save(self, path: Path) -> None:
        fresh = path.with_name(f"{path.name}~")
        fresh.write_text(self.texts[path], "utf-8")
        fresh.replace(path)  # at once: a check may be reading it
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self.named(path)))

    def write(self, path: Path, text: str) -> None:
        self.edit(path, text)
        self.save(path)

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Apply an edit to what is open, and save it."""
        for change in edit.document_changes:
            (path,) = (p for p in self.texts if p.as_uri() == change.text_document.uri)
            lines = self.texts[path].split("\n")
            for one in sorted(change.edits, key=lambda one: -one.range.start.line):
                assert one.range.start.character == one.range.end.character == 0
                first, last = one.range.start.line, one.range.end.line
                lines[first:last] = one.new_text.removesuffix("\n").split("\n")
            self.write(path, "\n".join(lines))

    @staticmethod
    def named(path: Path) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(path.as_uri())

    # --- what is seen ---

    def shown(self, path: Path) -> list[str]:
        """Its diagnostics: `14:13-18 NPL001 error message`, from 1, in UTF-16."""
        return [
            f"{at.start.line + 1}:{at.start.character + 1}-{at.end.character + 1} "
            f"{one.code} {one.severity.name.lower()} {one.message}"
            for one in self.client.diagnostics.get(path.as_uri(), ())
            for at in (one.range,)
        ]

    def codes(self, path: Path) -> list[str]:
        return sorted(one.code or "" for one in self.client.diagnostics.get(path.as_uri(), ()))

    async def hints(self, path: Path) -> dict[int, str]:
        asked = types.InlayHintParams(self.named(path), WHOLE)
        found = await self.client.text_document_inlay_hint_async(asked)
        return {one.position.line + 1: one.label for one in found}

    async def lenses(self, path: Path) -> dict[int, str]:
        asked = types.CodeLensParams(self.named(path))
        found = await self.client.text_document_code_lens_async(asked)
        return {one.range.start.line + 1: one.command.title for one in found}

    async def hover(self, path: Path, line: int) -> str:
        place = types.Position(line - 1, 8)
        found = await self.client.text_document_hover_async(
            types.HoverParams(self.named(path), place)
        )
        return found.contents.value if found else ""

    async def actions(self, path: Path, line: int) -> dict[str, types.CodeAction]:
        """By their titles; an edit is worked out when one is chosen."""
        place = types.Position(line - 1, 0)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                self.named(path), types.Range(place, place), types.CodeActionContext([])
            )
        )
        return {one.title: one for one in found}

    async def choose(self, action: types.CodeAction) -> types.WorkspaceEdit | None:
        return (await self.client.code_action_resolve_async(action)).edit

    async def complete(self, path: Path, line: int) -> dict[str, str]:
        """What may follow at the end of a line, with its note."""
        place = types.Position(line - 1, len(self.texts[path].split("\n")[line - 1]))
        found = await self.client.text_document_completion_async(
            types.CompletionParams(self.named(path), place)
        )
        return {one.label: one.detail for one in found}

    async def command(self, name: str, *arguments: object) -> None:
        asked = types.ExecuteCommandParams(name, arguments=[*arguments] or None)
        await self.client.workspace_execute_command_async(asked)
