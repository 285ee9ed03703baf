"""Counts in Markdown and reStructuredText are checked, rewritten and suggested."""

from __future__ import annotations

import json

import pytest
from model_source import TORCH, model_class
from sample_files import write_files
from sample_repository import Sample

NET = (
    TORCH
    + model_class("Net", "self.fc = nn.Linear(d, d)", takes="d=10")
    + "\n\ndef small():\n    return Net(100)\n\n\ndef large():\n    return Net(1000)\n"
)
COUNTED = "{} <!-- nparam: net.py::Net -->\n"


@pytest.fixture
def sample(tmp_path, environ):
    repository = Sample.create(tmp_path / "repository", environ)
    repository.committed({"net.py": NET, "README.md": COUNTED.format(110)})
    return repository


def found(done):
    """(code, place) of each finding of a run with --format json."""
    return {
        (f["code"], f"{f['path']}:{f['line']}:{f['column']}")
        for f in json.loads(done.stdout)["findings"]
    }


def test_files_of_every_name_and_encoding_are_read_or_told(nparam_lint, tmp_path):
    text, comment = COUNTED.format(109), "# nparam: 109\n_target_: net.Net\n"
    files = {"README.MD": text, "a.markdown": text, "b.Rst": ".. nparam: net.py::Net\n\n109\n"}
    files["silenced.md"] = (
        "111 <!-- nparam: net.py::Net --> <!-- nparam: ignore[NPL001] as published -->\n\n"
        "110 <!-- nparam: net.py::Net --> <!-- nparam: ignore[NPL001] -->\n\n"
        "In Python: `# nparam: ignore[NPL101]`, here: `<!-- nparam: ignore[NPL001] -->`.\n"
    )
    root = write_files(tmp_path / "names", {"net.py": NET, **files, "U.YAML": comment})
    (root / "bom.yaml").write_text(comment, "utf-8-sig")
    for name, said in (("w.md", text), ("w.yaml", comment), ("w.py", f"# nparam: 3\n{NET}")):
        (root / name).write_text(said, "utf-16")
    latin = "Gr\xf6\xdfe: 111 <!-- nparam: net.py::Net -->\n".encode("latin-1")
    (root / "latin.md").write_bytes(latin)
    config = '"*.?[Aa]?[Ll]" = { call = "net.py::Net()" }'
    (root / "nparam-lint.toml").write_text(f"[arguments]\n{config}\n")
    done = nparam_lint("--format", "json", "--device", "meta", cwd=root)
    assert found(done) == {
        ("NPL001", "README.MD:1:1"),
        ("NPL001", "a.markdown:1:1"),
        ("NPL001", "b.Rst:3:1"),
        ("NPL001", "U.YAML:1:11"),
        ("NPL001", "bom.yaml:1:12"),
        ("NPL001", "latin.md:1:8"),
        ("NPL015", "silenced.md:3:34"),
        ("NPL002", "w.md:1:1"),
        ("NPL002", "w.yaml:1:1"),
        ("NPL003", "w.py:1:4"),
    }
    done = nparam_lint("update", "latin.md", cwd=root)
    assert "cannot be rewritten: the file is not UTF-8" in done.stdout
    assert (root / "latin.md").read_bytes() == latin


@pytest.mark.thorough
def test_an_answer_is_not_given_again_once_a_text_has_changed(sample, nparam_lint_process):
    def run():
        return nparam_lint_process("--declared", cwd=sample.path, **sample.environ).returncode

    assert [run(), run()] == [0, 0]
    sample.write({"docs/new.md": COUNTED.format(109)})
    assert run() == 1
    sample.write({"docs/new.md": COUNTED.format(110)})
    assert run() == 0


def test_line_ends_of_restructured_text_stay(nparam_lint, tmp_path):
    text = b"large has 1M parameters\r\n"
    root = write_files(tmp_path / "said", {"net.py": NET, "a.rst": text.decode()})
    assert nparam_lint("init", "--claims", cwd=root).returncode == 0
    assert (root / "a.rst").read_bytes() == b".. nparam: net.py::large\r\n\r\n" + text
    assert "1 budget holds" in nparam_lint("--declared", "a.rst", cwd=root).stdout
