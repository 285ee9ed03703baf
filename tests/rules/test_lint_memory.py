"""What was found in a source before is found again, without a look at it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from nparam_lint.cache.file_facts import release
from nparam_lint.cache.store import Store, digest
from nparam_lint.discover import discover, list_project
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.rules.lint import lint_files, lint_source, source_codes

LIST = "        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]\n"
NET = f"from torch import nn\nclass Net(nn.Module):\n    def build(self):\n{LIST}"
HEIR = f"from torch import nn\nfrom net import Net\nclass Heir(Net):\n    def build(self):\n{LIST}"
CLEAN = NET.replace("[nn.Linear(2, 2), nn.Linear(2, 2)]", "nn.Linear(2, 2)")
# Run in a process of its own, since others here have imported the rules before.
LINT = """\
import json, sys
from pathlib import Path
from nparam_lint.cache.store import Store
from nparam_lint.discover import discover, list_project
from nparam_lint.rules.lint import lint_files, scan_and_lint
root, store = Path(sys.argv[1]), Store(sys.argv[2], sys.argv[1])
files, importable = list_project(root)
found = discover(root, files, importable=importable, store=store, scan=scan_and_lint)
parsed = []
sys.addaudithook(lambda e, given: e == "compile" and given[1] == "<unknown>" and parsed.append(e))
linted = lint_files(found.tree, [(path, found.modules(path)) for path in found.parsed], store)
places = [f"{f.position.path}:{f.position.line} {f.code}" for f in linted]
assert "libcst" not in sys.modules
values_is_read = type(sys.modules["nparam_lint.rules.values"]).__name__ != "UnreadModule"
print(json.dumps([places, values_is_read, len(parsed)]))
"""


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "project"
    place.mkdir()
    for name, source in {
        "net.py": NET,
        "copy.py": NET,
        "heir.py": HEIR,
        "clean.py": CLEAN,
        "bad.py": "class A(:",
    }.items():
        (place / name).write_text(source)
    return place


@pytest.fixture
def base(tmp_path):
    return str(tmp_path / "cache")


def linted(root, store=None):
    files, importable = list_project(root)
    found = discover(root, files, importable=importable, store=store)
    return lint_files(found.tree, [(p, found.modules(p)) for p in found.parsed], store)


def same(root, base):
    """The findings, after making sure that they are the same with what is remembered, without, and
    file by file."""
    plain = linted(root)
    assert linted(root, Store(base, str(root))) == plain
    assert linted(root, Store(base, str(root))) == plain
    found = discover(root, list_project(root)[0])
    sources = {path: (root / path).read_text() for path in found.parsed}
    alone = [f for p, text in sources.items() for f in lint_source(text, p, found.modules(p))]
    assert [one for one in alone if one.code != "NPL002"] == plain
    return places(plain)


def places(findings):
    return [f"{f.position.path}:{f.position.line} {f.code}" for f in findings]


def process(root, base):
    """The places of the findings, whether a rule looked at anything, and how many files were parsed
    after the scan."""
    done = subprocess.run(
        [sys.executable, "-c", LINT, root, base], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_cases_of_all_rules_are_found_again(tmp_path, base):
    root = tmp_path / "project"
    root.mkdir()
    for code in source_codes():
        for number, (source, _) in enumerate(RULES[code].invalid.items()):
            (root / f"{code.lower()}_{number}.py").write_text(source, encoding="utf-8")
    found = same(root, base)
    assert {place.split()[1] for place in found} == {*source_codes()}
    assert process(root, base) == [found, False, 0]


def test_only_what_is_new_and_may_hold_a_finding_is_looked_at_again(root, base):
    found = ["copy.py:4 NPL101", "heir.py:5 NPL101", "net.py:4 NPL101"]
    assert process(root, base) == [found, True, 3]
    assert process(root, base) == [found, False, 0]
    (root / "net.py").write_text(f"import os\n{NET}")
    found[-1] = "net.py:5 NPL101"
    assert process(root, base) == [found, True, 1]
    assert process(root, base) == [found, False, 0]


def test_a_base_in_another_file_counts(root, base):
    assert same(root, base) == ["copy.py:4 NPL101", "heir.py:5 NPL101", "net.py:4 NPL101"]
    (root / "net.py").write_text(NET.replace("nn.Module", "object   "))
    assert same(root, base) == ["copy.py:4 NPL101"]
    (root / "net.py").write_text(NET)
    assert same(root, base) == ["copy.py:4 NPL101", "heir.py:5 NPL101", "net.py:4 NPL101"]


def test_a_file_that_moves_has_its_findings_at_the_new_place(root, base):
    same(root, base)
    (root / "copy.py").rename(root / "moved.py")
    found = same(root, base)
    assert found == ["heir.py:5 NPL101", "moved.py:4 NPL101", "net.py:4 NPL101"]


def test_a_file_that_is_written_to_meanwhile_is_not_remembered(root, base):
    store = Store(base, str(root))
    found = discover(root, list_project(root)[0], store=store)
    modules = [(path, found.modules(path)) for path in found.parsed]
    (root / "net.py").write_text(f"import os\n{NET}")  # after it was read, before it is linted
    assert "net.py:5 NPL101" in places(lint_files(found.tree, modules, store))
    (root / "net.py").write_text(NET)
    assert "net.py:4 NPL101" in same(root, base)


def test_a_file_that_disappears_meanwhile_has_no_findings(root, base):
    store = Store(base, str(root))
    found = discover(root, list_project(root)[0], store=store)
    modules = [(path, found.modules(path)) for path in found.parsed]
    shutil.rmtree(root)
    assert lint_files(found.tree, modules, store) == []


def entries(root, value):
    """The digests of all that is linted in the project, each with that value."""
    found = discover(root, list_project(root)[0])
    return {
        digest(
            *(
                part.encode()
                for part in (found.tree.digest(path), path, *sorted(found.modules(path)))
            )
        ): value
        for path in found.parsed
    }


WRONG = [
    b"",
    b"\xc1",
    b"{}",
    b'[{"code":"NPL101"}]',
    b'[{"code":"NPL101","severity":"fatal","position":{"path":"net.py"},"message":""}]',
    b'[{"code":"NPL101","severity":"error","position":{"path":"net.py","line":"4"},"message":""}]',
]


def test_findings_of_wrong_types_were_never_there(root, base):
    plain = linted(root)
    assert plain
    for value in WRONG:
        store = Store(base, str(root))
        name = f"findings-{release(store)}"
        assert store.save(name, msgspec.msgpack.encode(entries(root, value)))
        assert linted(root, store) == plain
    assert process(root, base) == [places(plain), False, 0]


def test_findings_of_another_version_are_not_asked(root, base):
    plain = same(root, base)
    store = Store(base, str(root))
    name = f"findings-{release(store)}"
    assert store.save(name, msgspec.msgpack.encode(entries(root, b"[]")))
    assert linted(root, store) == []  # the entry is the one that would be believed
    Path(store.folder, name).rename(Path(store.folder, "findings-another"))
    assert same(root, base) == plain


def test_a_damaged_entry_was_never_there(root, base):
    plain = same(root, base)
    (path,) = Path(Store(base, str(root)).folder).glob("findings-*")
    body = path.read_bytes()
    path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    assert process(root, base)[:2] == [plain, True]
    assert process(root, base) == [plain, False, 0]


def test_where_nothing_can_be_written_nothing_is_remembered(root, tmp_path):
    (tmp_path / "file").write_text("")
    plain = same(root, str(tmp_path / "file/cache"))
    assert process(root, str(tmp_path / "file/cache"))[:2] == [plain, True]
