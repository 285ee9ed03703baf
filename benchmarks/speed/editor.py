"""How long an editor waits for its hints after an edit."""

from __future__ import annotations

import json
import subprocess
import time
from typing import IO, TYPE_CHECKING, Any

from speed.measure import Invalid, Result, Skipped, Target, alternate, compare
from speed.models_text import BLOCK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from speed.measure import Bench, Row

PAUSE = 15.0  # seconds between two edits
_GPT = f"""\
import torch.nn as nn


{BLOCK}

class Net(nn.Module):
    def __init__(self, n=48, d=1600):
        super().__init__()
        self.wte = nn.Embedding(50257, d)
        self.wpe = nn.Embedding(1024, d)
        self.h = nn.ModuleList([Block(d) for _ in range(n)])
        self.ln_f = nn.LayerNorm(d)
        self.head = nn.Linear(d, EDITED)
"""
_WRAPPED = """\
import torch.nn as nn
{imports}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {body}
        self.head = nn.Linear(1000, EDITED)
"""
# What each file needs besides torch, and what it says.
_FILES = {
    "a GPT of 48 blocks": ((), _GPT),
    "a model around transformers'": (
        ("transformers",),
        _WRAPPED.format(
            imports="from transformers import LlamaConfig, LlamaForCausalLM",
            body="LlamaForCausalLM(LlamaConfig())",
        ),
    ),
}


def editor(bench: Bench) -> Result:
    """Seconds from a saved edit of a model's file until its hints are there, in an editor whose
    server runs.

    Ours: `nparam-lint lsp`, from the notice that the file was saved to the answer with the hints,
    which have the edited line's new count. Theirs: a process that has imported torch, and all that
    the file imports, compiles and runs the file once more and builds the model on the meta device;
    nothing is counted, guarded or told. Between two edits somebody types for 15 seconds.
    """
    rows, left = [], []
    for name, (needs, text) in _FILES.items():
        try:
            bench.needs(*needs)
        except Skipped as why:
            left.append(f"{name}: {why}")
            continue
        rows.append(_row(bench, name, text))
    return Result(rows, left)


def _row(bench: Bench, name: str, text: str) -> Row:
    root = bench.folder("editor")
    file, config = root / "net.py", root / "nparam-lint.toml"
    config.write_text(f"python = {bench.python!r}\n", encoding="utf-8")
    file.write_text(text.replace("EDITED", "10"), encoding="utf-8")
    bench.run(["git", "init", "-q"], root)
    program = bench.inside_command("reimport.py", str(file), "Net()")
    with _Server(bench, root, file) as server, _piped(program, root, bench.environ) as other:
        _answer(other)
        size = 100

        def ours() -> float:
            nonlocal size
            size += 1
            time.sleep(PAUSE)
            return server.edited(text.replace("EDITED", str(size)))

        taken = alternate({"ours": ours, "theirs": lambda: _answer(other)}, bench.repetitions)
    return compare(f"{name}: hints / build", taken["ours"], taken["theirs"], Target(2))


def _piped(command: list[str], root: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=root, env=dict(environ), stdin=pipe, stdout=pipe)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _answer(process: subprocess.Popen[bytes]) -> float:
    given, told = _pipes(process)
    given.write(b"\n")
    given.flush()
    line = told.readline()
    if not line:
        raise Invalid("the process that builds has ended")
    return float(line)


class _Server:
    """The language server, with a file open."""

    def __init__(self, bench: Bench, root: Path, file: Path) -> None:
        command = [bench.own, "-m", "nparam_lint", "lsp"]
        self.process = _piped(command, root, bench.environ)
        self.file, self.uri, self.number = file, file.as_uri(), 0
        self.ask(
            "initialize",
            processId=None,
            capabilities={},
            workspaceFolders=[{"uri": root.as_uri(), "name": "project"}],
            initializationOptions={"trust": True},
        )
        self.send("initialized")
        text = file.read_text(encoding="utf-8")
        document = {"uri": self.uri, "languageId": "python", "version": 0, "text": text}
        self.send("textDocument/didOpen", textDocument=document)
        self.wait()

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.ask("shutdown")
        self.send("exit")
        self.process.wait()

    def edited(self, text: str) -> float:
        """The seconds until the hints of a new text are there."""
        self.number += 1
        self.file.write_text(text, encoding="utf-8")
        document = {"uri": self.uri, "version": self.number}
        self.send("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        start = time.perf_counter()
        self.send("textDocument/didSave", textDocument={"uri": self.uri})
        while not self.shows(text):  # else it was told of the edit before
            pass
        return time.perf_counter() - start

    def shows(self, text: str) -> bool:
        """Whether the next diagnostics come with the hints of this text."""
        self.wait()
        size = int(text.rpartition(",")[2].strip(" )\n"))
        width = 1600 if "1600" in text else 1000
        told = f"**{size * (width + 1):,} parameters**"
        return any(hint["tooltip"]["value"].startswith(told) for hint in self.hints())

    def hints(self) -> list[dict[str, Any]]:
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
        return self.ask("textDocument/inlayHint", textDocument={"uri": self.uri}, range=where)

    def wait(self) -> None:
        while self.read().get("method") != "textDocument/publishDiagnostics":
            pass

    def ask(self, method: str, **params: Any) -> Any:
        self.number += 1
        self.write({"id": self.number, "method": method, "params": params})
        while (answer := self.read()).get("id") != self.number or "method" in answer:
            pass
        return answer["result"]

    def send(self, method: str, **params: Any) -> None:
        self.write({"method": method, "params": params})

    def write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        given, _ = _pipes(self.process)
        given.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        given.flush()

    def read(self) -> dict[str, Any]:
        _, told = _pipes(self.process)
        size = 0
        while line := told.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        if not size:
            raise Invalid("the language server has ended")
        return json.loads(told.read(size))
