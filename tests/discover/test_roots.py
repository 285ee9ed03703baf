from __future__ import annotations

from typing import TYPE_CHECKING

from discover_project import discovered

if TYPE_CHECKING:
    from pathlib import Path


def plan(root: Path, path: str, sources: dict[str, str]) -> list[tuple[str, tuple[str, ...]]]:
    return [(a.module, a.roots) for a in discovered(root, sources).plan(path)]


def test_a_package_is_climbed(tmp_path: Path) -> None:
    sources = {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/net.py": ""}
    assert plan(tmp_path, "pkg/sub/net.py", sources) == [
        ("pkg.sub.net", ("",)),
        ("net", ("pkg/sub", "")),
    ]
    assert plan(tmp_path, "pkg/sub/__init__.py", sources)[0] == ("pkg.sub", ("",))


def test_src_layout(tmp_path: Path) -> None:
    sources = {"src/pkg/__init__.py": "", "src/pkg/net.py": "", "train.py": ""}
    assert plan(tmp_path, "src/pkg/net.py", sources)[0] == ("pkg.net", ("src", ""))


def test_a_script_stands_alone_with_its_neighbours(tmp_path: Path) -> None:
    sources = {"exp/model.py": "from layers import L", "exp/layers.py": ""}
    assert plan(tmp_path, "exp/model.py", sources) == [
        ("model", ("exp", "")),
        ("exp.model", ("", "exp")),
    ]


def test_names_that_are_no_identifiers(tmp_path: Path) -> None:
    sources = {"4_pretrain/my-model.py": ""}
    assert plan(tmp_path, "4_pretrain/my-model.py", sources)[0] == ("my-model", ("4_pretrain", ""))


def test_below_a_hidden_folder_a_file_stands_alone(tmp_path: Path) -> None:
    """Python has no name for what is in it: `.tools.net` would be relative to nothing."""
    sources = {".tools/net.py": "from . import x", ".tools/__init__.py": ""}
    assert plan(tmp_path, ".tools/net.py", sources) == [("net", (".tools", ""))]


def test_the_name_that_the_repository_uses_comes_first(tmp_path: Path) -> None:
    sources = {"lab/models/net.py": "", "train.py": "from lab.models.net import Net"}
    assert plan(tmp_path, "lab/models/net.py", sources)[0] == ("lab.models.net", ("",))
    # Another file of the same name that another directory imports says nothing about this one.
    sources = {"one/net.py": "", "one/train.py": "from net import N", "two/net.py": ""}
    assert plan(tmp_path, "two/net.py", sources)[0] == ("net", ("two", ""))


def test_relative_imports_need_a_package(tmp_path: Path) -> None:
    sources = {"lab/models/net.py": "from ..layers import L", "lab/layers.py": "from . import x"}
    modules = plan(tmp_path, "lab/models/net.py", sources)
    assert modules[0] == ("lab.models.net", ("",))
    sources = {"a/b/net.py": "from .layers import L", "a/b/layers.py": ""}
    assert [module for module, _ in plan(tmp_path, "a/b/net.py", sources)] == [
        "b.net",
        "a.b.net",
        "net",
    ]


def test_the_project_itself_may_be_the_package(tmp_path: Path) -> None:
    root = tmp_path / "nodes"
    sources = {"__init__.py": "from .net import Net", "net.py": "from .layers import L"}
    sources["layers.py"] = ""
    assert plan(root, "net.py", sources)[0] == ("nodes.net", ("..", ""))
    assert plan(root, "layers.py", sources) == [("layers", ("",))]


def test_roots_inferred_from_imports_through_other_files(tmp_path: Path) -> None:
    sources = {
        "app/net.py": "from lib.block import Block",
        "third/x/lib/__init__.py": "",
        "third/x/lib/block.py": "import helper",
        "third/x/helper.py": "",
        "app/sub/deep.py": "import torch\nfrom shared import S",
        "app/shared.py": "",
    }
    assert plan(tmp_path, "app/net.py", sources)[0] == ("net", ("app", "", "third/x"))
    assert plan(tmp_path, "app/sub/deep.py", sources)[0] == ("deep", ("app/sub", "", "app"))


def test_a_package_below_is_no_root_for_an_installed_name(tmp_path: Path) -> None:
    # `import whisper` inside audio/whisper.py, and anywhere else, means the installed package.
    sources = {
        "pkg/__init__.py": "",
        "pkg/audio/__init__.py": "",
        "pkg/audio/whisper.py": "def f():\n    import whisper\n",
        "pkg/net.py": "import whisper\nfrom .audio.whisper import f\n",
        "ops/triton/kernel.py": "import triton\n",
    }
    assert plan(tmp_path, "pkg/net.py", sources)[0] == ("pkg.net", ("",))
    assert plan(tmp_path, "ops/triton/kernel.py", sources)[0] == ("kernel", ("ops/triton", ""))


def test_a_package_from_which_a_script_says_that_it_imports_is_a_root(tmp_path: Path) -> None:
    said = "import sys\nsys.path.append('core')\nfrom flow import Flow\n"
    sources = {
        "core/__init__.py": "",
        "core/flow.py": "",
        "demo.py": said,
        "other.py": "from flow import Flow\n",
    }
    assert plan(tmp_path, "demo.py", sources)[0] == ("demo", ("", "core"))
    assert plan(tmp_path, "other.py", sources)[0] == ("other", ("",))
