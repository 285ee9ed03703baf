"""Writes the files of a sample project."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A script that builds `net.Net` as the file says that its option names.
BUILDS_BY_JSON = """\
import argparse
import json

from net import Net

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="small.json")
args = parser.parse_args()
with open(args.config) as file:
    h = json.load(file)
model = Net(h)
"""


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Write each text below `root`, with its line ends as they are; gives `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root
