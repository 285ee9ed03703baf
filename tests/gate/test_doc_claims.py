"""An answer rests on counts in texts, which are on pages/doc_encodings.md and others."""

from __future__ import annotations

import pytest
from model_source import TORCH, model_class
from sample_repository import Sample

NET = TORCH + model_class("Net", "self.fc = nn.Linear(d, d)", takes="d=10")
COUNTED = "{} <!-- nparam: net.py::Net -->\n"


@pytest.mark.thorough
def test_an_answer_is_not_given_again_once_a_text_has_changed(
    tmp_path, environ, nparam_lint_process
):
    sample = Sample.create(tmp_path / "repository", environ)
    sample.committed({"net.py": NET, "README.md": COUNTED.format(110)})

    def run():
        return nparam_lint_process("--declared", cwd=sample.path, **sample.environ).returncode

    assert [run(), run()] == [0, 0]
    sample.write({"docs/new.md": COUNTED.format(109)})
    assert run() == 1
    sample.write({"docs/new.md": COUNTED.format(110)})
    assert run() == 0
