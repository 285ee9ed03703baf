"""An editor's check begins with the files that the last one found; git is asked meanwhile."""

import shutil
import subprocess

import pytest

from nparam_lint.ground.errors import UsageError
from nparam_lint.plugins.editor.answers import FileListing, check_file


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "net.py").touch()
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def test_what_was_there_is_told_at_once_and_what_came_is_noticed(root):
    known = {}
    first = FileListing(known)
    assert first(root) == ["net.py"]
    assert first.is_current()
    (root / "width.py").touch()
    second = FileListing(known)
    assert [second(root), second(root)] == [["net.py"], ["net.py"]]
    assert not second.is_current()
    third = FileListing(known)
    assert sorted(third(root)) == ["net.py", "width.py"]
    assert third.is_current()


def test_a_folder_that_is_gone_is_an_error_of_the_next(root):
    known = {}
    FileListing(known)(root)
    shutil.rmtree(root)
    second = FileListing(known)
    assert second(root) == ["net.py"]
    assert not second.is_current()
    with pytest.raises(UsageError, match="project cannot be looked into: No such file"):
        FileListing(known)(root)


NET = """\
from width import Base


class Net(Base):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(2, 2)]
"""


@pytest.mark.parametrize("said", [[], ["net.py", "gone.py"], ["net.py", "width.py"]])
def test_a_check_that_began_with_other_files_is_done_again(root, said):
    """What Net is stands in a file that came since."""
    (root / "net.py").write_text("from torch import nn\n" + NET)
    (root / "width.py").write_text("from torch import nn\nclass Base(nn.Module):\n    pass\n")
    folders = {root: said}
    answer = check_file(
        root / "net.py", {"NPARAM_LINT_CACHE": ""}, print, builds=False, folders=folders
    )
    assert sorted(folders[root]) == ["net.py", "width.py"]
    assert [finding.code for finding in answer.report.findings] == ["NPL101"]
