"""A copy of what git has: what is in it, what is linked, and what is said about the rest."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from sample_repository import AWKWARD, Sample

from nparam_lint.ground.errors import UsageError
from nparam_lint.repository.git import GitError, open_repository
from nparam_lint.repository.snapshot import Snapshot, copied


@pytest.fixture
def sample(tmp_path, environ) -> Sample:
    made = Sample.create(tmp_path / AWKWARD, environ)
    made.committed(
        {
            ".gitignore": "*.so\n_version.py\ndata/\n.venv/\n__pycache__/\n*.egg-info/\n",
            "pkg/__init__.py": "",
            "pkg/model.py": "x = 1\n",
            "notes.txt": "text\n",
        }
    )
    return made


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """Where copies are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def opened(sample: Sample):
    return open_repository(sample.path, sample.environ)


def test_the_copy_is_gone_whatever_happens(sample, temporary):
    with pytest.raises(KeyboardInterrupt), copied(opened(sample)):
        raise KeyboardInterrupt
    sample.git("init", "--quiet", "sub")
    sample.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    with pytest.raises(GitError, match="the submodule sub lacks"), copied(opened(sample)):
        pass
    assert list(temporary.iterdir()) == []


def test_paths_move_between_the_working_tree_and_the_copy(sample, tmp_path, monkeypatch):
    (tmp_path / "alias").symlink_to(sample.path)
    with copied(opened(sample)) as copy:
        model = copy.directory / "pkg/model.py"
        assert copy.copy_of(sample.path / "pkg/model.py") == model
        assert copy.copy_of(tmp_path / "alias/pkg/model.py") == model
        monkeypatch.chdir(sample.path / "pkg")
        assert copy.copy_of(Path("model.py")) == model
        assert copy.original_of(model) == sample.path / "pkg/model.py"
        assert copy.original_of(copy.directory) == sample.path
        with pytest.raises(UsageError, match="is outside of the repository at "):
            copy.copy_of(tmp_path)
        assert copy.files(copy.directory / "pkg") == ["__init__.py", "model.py"]


NOT_TRACKED = {
    "No such file: 'conf/a.yaml'": "conf/a.yaml",
    "No such file: './conf/a.yaml'": "conf/a.yaml",
    "No such file: '/home/u/repo/conf/a.yaml'": "conf/a.yaml",
    "it reads conf/a.yaml.": "conf/a.yaml",
    "No such file: 'a.yaml'": None,
    "No such file: 'conf/a.yaml.bak'": None,
    "No such file: 'old/conf/a.yaml'": None,
    "No such file: '/other/conf/a.yaml'": None,
    "the data has no such key": None,
}


def test_a_failure_is_traced_to_what_was_not_added():
    home, place = Path("/home/u/repo"), Path("/tmp/copy")
    copy = Snapshot(
        place, home, (), (), untracked=("conf/a.yaml", "data", "lib/h.py"), unstaged=("m.py",)
    )
    not_tracked = "{0} is not tracked by git; next: git add :/{0}".format
    for reason, file in NOT_TRACKED.items():
        assert copy.at_fault(reason, place) == (file and not_tracked(file)), reason
    inside = place / "conf"  # where relative paths start from
    assert copy.at_fault("No such file: 'a.yaml'", inside) == not_tracked("conf/a.yaml")
    assert copy.at_fault("No such file: '../lib/h.py'", inside) == not_tracked("lib/h.py")
    failure = "cannot import 'x' from 'm' (/home/u/repo/{})".format
    changed = "m.py has changes that are not staged; next: git add :/m.py"
    assert copy.at_fault(failure("m.py"), place) == changed
    assert copy.at_fault(failure("sum.py"), place) is None
