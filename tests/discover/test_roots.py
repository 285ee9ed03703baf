"""Under which name a file is imported, and with which directories on the import path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from discover_project import discovered

if TYPE_CHECKING:
    from pathlib import Path

END = ("", ())  # there are no further ways
PACKAGE = {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/net.py": ""}
PROJECT = {"__init__.py": "from .net import Net", "net.py": "from .layers import L"}
THROUGH_OTHERS = {
    "app/net.py": "from lib.block import Block",
    "third/x/lib/__init__.py": "",
    "third/x/lib/block.py": "import helper",
    "third/x/helper.py": "",
    "app/sub/deep.py": "import torch\nfrom shared import S",
    "app/shared.py": "",
}
# `import whisper` inside audio/whisper.py, and anywhere else, means the installed package.
INSTALLED = {
    "pkg/__init__.py": "",
    "pkg/audio/__init__.py": "",
    "pkg/audio/whisper.py": "def f():\n    import whisper\n",
    "pkg/net.py": "import whisper\nfrom .audio.whisper import f\n",
    "ops/triton/kernel.py": "import triton\n",
}
SAYS_FROM_WHERE = {
    "core/__init__.py": "",
    "core/flow.py": "",
    "demo.py": "import sys\nsys.path.append('core')\nfrom flow import Flow\n",
    "other.py": "from flow import Flow\n",
}


@pytest.mark.parametrize(
    ("sources", "path", "expected"),
    [
        # A package is climbed.
        (PACKAGE, "pkg/sub/net.py", [("pkg.sub.net", ("",)), ("net", ("pkg/sub", "")), END]),
        (PACKAGE, "pkg/sub/__init__.py", [("pkg.sub", ("",))]),
        (
            {"src/pkg/__init__.py": "", "src/pkg/net.py": "", "train.py": ""},
            "src/pkg/net.py",
            [("pkg.net", ("src", ""))],
        ),
        # A script stands alone with its neighbours.
        (
            {"exp/model.py": "from layers import L", "exp/layers.py": ""},
            "exp/model.py",
            [("model", ("exp", "")), ("exp.model", ("", "exp")), END],
        ),
        # A folder that is the project of a package, to be installed.
        (
            {
                "train.py": "from light import Tool",
                "light/setup.py": "",
                "light/light/__init__.py": "",
            },
            "train.py",
            [("train", ("", "light"))],
        ),
        # Names that are no identifiers.
        (
            {"4_pretrain/my-model.py": ""},
            "4_pretrain/my-model.py",
            [("my-model", ("4_pretrain", ""))],
        ),
        # Below a hidden folder Python has no name: `.tools.net` would be relative to nothing.
        (
            {".tools/net.py": "from . import x", ".tools/__init__.py": ""},
            ".tools/net.py",
            [("net", (".tools", "")), END],
        ),
        # The name that the repository uses comes first; another file of the same name that another
        # directory imports says nothing about this one.
        (
            {"lab/models/net.py": "", "train.py": "from lab.models.net import Net"},
            "lab/models/net.py",
            [("lab.models.net", ("",))],
        ),
        (
            {"one/net.py": "", "one/train.py": "from net import N", "two/net.py": ""},
            "two/net.py",
            [("net", ("two", ""))],
        ),
        # Relative imports need a package.
        (
            {"lab/models/net.py": "from ..layers import L", "lab/layers.py": "from . import x"},
            "lab/models/net.py",
            [("lab.models.net", ("",))],
        ),
        (
            {"a/b/net.py": "from .layers import L", "a/b/layers.py": ""},
            "a/b/net.py",
            [("b.net", ("a", "")), ("a.b.net", ("",)), ("net", ("a/b", "")), END],
        ),
        # The project itself may be the package.
        ({**PROJECT, "layers.py": ""}, "net.py", [("nodes.net", ("..", ""))]),
        ({**PROJECT, "layers.py": ""}, "layers.py", [("layers", ("",)), END]),
        (THROUGH_OTHERS, "app/net.py", [("net", ("app", "", "third/x"))]),
        (THROUGH_OTHERS, "app/sub/deep.py", [("deep", ("app/sub", "", "app"))]),
        # A package below is no root for an installed name.
        (INSTALLED, "pkg/net.py", [("pkg.net", ("",))]),
        (INSTALLED, "ops/triton/kernel.py", [("kernel", ("ops/triton", ""))]),
        # A package from which a script says that it imports is a root.
        (SAYS_FROM_WHERE, "demo.py", [("demo", ("", "core"))]),
        (SAYS_FROM_WHERE, "other.py", [("other", ("",))]),
    ],
)
def test_names_and_roots_best_first(
    tmp_path: Path, sources: dict[str, str], path: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    plan = discovered(tmp_path / "nodes", sources).plan(path)
    assert [*((a.module, a.roots) for a in plan), END][: len(expected)] == expected
