"""A copy of the package, to add a thing to, and a project to check with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nparam_lint


class PackageCopy:
    """`worker`: the folder of its worker; `source`: that of the project's one file, net.py."""

    def __init__(self, place: Path, source: str) -> None:
        package, self.project = place / "copy" / "nparam_lint", place / "project"
        shutil.copytree(
            Path(nparam_lint.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
        )
        self.root, self.worker = package.parent, package / "worker"
        self.cache = place / "cache"
        self.project.mkdir(parents=True)
        (self.project / "net.py").write_text(source)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return subprocess.run(
            [sys.executable, "-m", "nparam_lint", *arguments],
            cwd=self.project,
            env=environ
            | {
                "PYTHONPATH": str(self.root),
                "COLUMNS": "200",
                "NPARAM_LINT_CACHE": str(self.cache),
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
