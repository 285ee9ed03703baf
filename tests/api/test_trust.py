"""What the language server runs, and where: nothing before the user trusts a folder, and nothing
that is left when it ends."""

import asyncio
import shutil
import sys
import uuid

import pytest
from editor import Editor
from lsprotocol import types
from processes import marked, wait_until

NET = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 10)
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
"""


@pytest.fixture
def project(tmp_path):
    """A folder whose interpreter, and whose file, would say that they were run."""
    root = tmp_path / "project"
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").write_text("")
    python.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (root / "nparam-lint.toml").write_text('python = ".venv/bin/python"\n')
    (root / "net.py").write_text(NET)
    return root


@pytest.fixture
def marker(environ):
    """An environment by which all processes of a server are known."""
    name = f"marked-{uuid.uuid4().hex}"
    return environ | {"TORCH_MARKER": name}, name


@pytest.mark.asyncio
async def test_nothing_is_run_before_the_folder_is_trusted(environ, project, tmp_path):
    editor, net = Editor(environ), project / "net.py"
    await editor.start(project)
    await editor.open(net)
    assert editor.codes(net) == ["NPL101"]
    assert await editor.hints(net) == {}
    lens = "not counted: that would run this folder's code · trust it"
    assert await editor.lenses(net) == {4: lens}
    (told,) = editor.messages
    assert told.startswith(f"nparam-lint only reads {project}: ")
    editor.write(net, NET)
    other = project / "other.py"
    other.write_text(NET)
    await editor.open(other)
    assert not (tmp_path / "ran").exists()
    assert editor.messages == [told]

    await editor.command("nparam-lint.trust")
    await editor.until(lambda: editor.codes(net) == ["NPL010"])
    assert (tmp_path / "ran").exists()
    assert await editor.hints(net) == {7: "⟵ 110 · 100.0 %"}
    await editor.stop()


@pytest.mark.asyncio
@pytest.mark.thorough
async def test_a_folder_can_be_trusted_by_its_name_and_others_are_not(environ, project, tmp_path):
    other = shutil.copytree(project, tmp_path / "other")
    (other / "nparam-lint.toml").unlink()
    outside = tmp_path / "alone.py"
    outside.write_text(NET)
    editor = Editor(environ)
    await editor.start(project, other, settings={"trust": [str(other)]})
    for path, codes in (
        (project / "net.py", ["NPL101"]),
        (other / "net.py", ["NPL010"]),
        (outside, ["NPL101"]),
    ):
        await editor.open(path)
        assert editor.codes(path) == codes
    assert not (tmp_path / "ran").exists()
    settings = types.DidChangeConfigurationParams({"nparam-lint": {"trust": "yes"}})
    editor.client.workspace_did_change_configuration(settings)
    await editor.until(lambda: editor.codes(other / "net.py") == ["NPL101"])
    said = "the setting nparam-lint.trust is 'yes', expected true, false, or a list of folders"
    assert said in editor.messages
    await editor.stop()


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_without_torch_it_says_so_once(environ, project):
    (project / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    editor, net = Editor(environ), project / "net.py"
    await editor.start(project, settings={"trust": True})
    await editor.open(net)
    assert editor.codes(net) == ["NPL101"]
    (told,) = editor.messages
    assert told.startswith("no model can be built with ")
    assert "No module named 'torch'" in told
    editor.write(net, NET + "\n")
    await editor.stop()
    assert editor.messages == [told]


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["shut down", "killed", "terminated"])
@pytest.mark.asyncio
async def test_no_process_is_left(marker, project, how):
    environ, name = marker
    (project / "nparam-lint.toml").unlink()
    (project / "net.py").write_text(f"{NET}# {name}\n")  # which no cache knows
    editor = Editor(environ)
    await editor.start(project, settings={"trust": True})
    await editor.open(project / "net.py")
    assert len(marked(name)) > 1  # the worker waits for the next edit
    if how == "shut down":
        await editor.stop()
    elif how == "killed":  # the editor: nobody holds the other ends of the pipes
        editor.process.stdin.close()
    else:
        editor.process.terminate()
    await asyncio.wait_for(editor.process.wait(), 30)
    wait_until(lambda: not marked(name))


def test_without_pygls_it_says_what_to_install(nparam_lint_process, tmp_path):
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('no', name='pygls')\n")
    done = nparam_lint_process("lsp", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "nparam-lint: the language server needs pygls, which is not installed\n"
        "next: pip install 'nparam-lint[lsp]'\n"
    )
