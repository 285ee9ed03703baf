"""`nparam-lint lsp`: the language server, which editors start; it speaks over standard input and
output."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress

from nparam_lint.api.editor import server as language_server
from nparam_lint.ground.errors import UsageError

USAGE = "nparam-lint lsp"
DESCRIPTION = (
    "The language server, which editors start: diagnostics, parameters beside each line, tables, "
    "and budgets to write. It builds no model of a folder before the user trusts it. How to set it "
    "up: docs/editors.md."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="the default, and the only way")


def run(options: Namespace) -> int:
    """Serve until the editor is gone. Exit code 1: it did not ask to shut down before."""
    try:
        make_server = language_server.make_server
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("pygls", "lsprotocol"):
            step = "next: pip install 'nparam-lint[lsp]'"
            message = f"the language server needs pygls, which is not installed\n{step}"
            raise UsageError(message) from None
        raise
    # What anything else prints would break the protocol.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = make_server(dict(options.environ))

    def terminated(*_: object) -> None:
        server.close()
        os._exit(143)  # a thread waits for the editor's next words

    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        with suppress(AttributeError, ValueError):
            signal.signal(getattr(signal, name), terminated)
    try:
        server.start_io(sys.stdin.buffer, output)
    finally:
        server.close()
    return 0 if server.was_shut_down else 1
