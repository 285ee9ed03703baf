"""What an earlier run remembers never changes what a run finds; it only saves the parsing."""

from __future__ import annotations

import ast
from pathlib import Path
from unittest import mock

import pytest
from discover_project import targets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nparam_lint.cache.file_facts import FactCache, release
from nparam_lint.cache.store import Store, digest
from nparam_lint.discover import discover
from nparam_lint.discover.files import list_files, list_importable

NET = 'import torch\nclass Net(torch.nn.Module):\n    """nparam: 5"""\n'
HEIR = "from .net import Net as Base\nclass Heir(Base): pass\ndef make() -> Base: return Base()\n"
INIT = "from .heir import *\n"
BROKEN = "import torch\nclass A(:\n"
PROJECTS = Path(__file__).parents[1] / "projects"


def write(root, sources):
    for path, source in sources.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(source.encode("utf-8", "surrogatepass"))


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "project"
    write(
        place,
        {
            "pkg/__init__.py": INIT,
            "pkg/net.py": NET,
            "pkg/heir.py": HEIR,
            "copy/net.py": NET,
            "broken.py": BROKEN,
            "tests/test_net.py": "from pkg.net import Net\ndef test_net(): Net()\n",
        },
    )
    return place


@pytest.fixture
def base(tmp_path):
    return str(tmp_path / "cache")


def everything(root, store=None, paths=()):
    """All that a run can be told, as plain values."""
    files, importable = list_files(root, paths), list_importable(root)
    found = discover(root, files, importable=importable, store=store)
    whole = (
        found.files,
        found.parsed,
        found.definitions,
        found.problems,
        {path: found.plan(path) for path in importable},
        {path: (found.names(path), found.modules(path)) for path in importable},
    )
    found.tree.remember()
    return whole


def same(root, base, paths=()):
    """What is found, after making sure that it is the same with what is remembered and without."""
    plain = everything(root, None, paths)
    assert everything(root, Store(base, str(root)), paths) == plain
    assert everything(root, Store(base, str(root)), paths) == plain
    return plain


def parsed(root, base):
    """What is parsed where nothing is known but what the cache holds, and what is found then."""
    compiled, parse = [], ast.parse

    def note(source, *more, **options):
        compiled.append(source if isinstance(source, str) else source.decode())
        return parse(source, *more, **options)

    with mock.patch.object(ast, "parse", note):
        files, importable = list_files(root), list_importable(root)
        found = discover(root, files, importable=importable, store=Store(base, str(root)))
        for path in files:
            found.plan(path)
    found.tree.remember()
    return [compiled, [definition.target for definition in found.definitions]]


def named(name, store):
    """What the entry of this version is called."""
    return f"{name}-{release(store)}"


# --- the same answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.name for path in PROJECTS.iterdir()))
def test_every_sample_project_reads_the_same(project, base, name):
    same(project(name), base)


def test_half_a_surrogate_pair_is_no_obstacle(root, base):
    write(root, {"odd.py": 'import torch\nclass A(torch.nn.Module):\n    "\\ud800"\n'})
    same(root, base)
    compiled, found = parsed(root, base)
    assert [source for source in compiled if "ud800" in source] == compiled
    assert "odd.py::A" in found


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["pkg/net.py", "pkg/heir.py", "copy/net.py", "new.py", "broken.py"]),
        st.sampled_from([NET, HEIR, BROKEN, NET.replace("torch.nn.Module", "object"), "", None]),
    ),
    max_size=4,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS, st.booleans())
def test_any_edits_one_after_the_other(root, base, edits, part):
    for path, source in edits:
        if source is None:
            (root / path).unlink(missing_ok=True)
        else:
            write(root, {path: source})
        same(root, base, [root / "pkg"] if part else [])


# --- what is parsed -----------------------------------------------------------------------------


def test_only_what_changed_is_parsed(root, base):
    compiled, found = parsed(root, base)
    # Equal contents are parsed once, and what neither can hold a model nor is run with one never.
    assert sorted(compiled) == sorted([NET, HEIR, BROKEN, INIT])
    assert parsed(root, base) == [[], found]
    write(root, {"pkg/heir.py": HEIR + "x = 1\n"})
    assert parsed(root, base) == [[HEIR + "x = 1\n"], found]
    write(root, {"pkg/heir.py": HEIR})  # taken back: it is known still
    assert parsed(root, base) == [[], found]


def test_another_selection_of_files_forgets_nothing(root, base):
    _, found = parsed(root, base)
    everything(root, Store(base, str(root)), [root / "copy"])
    write(root, {"copy/net.py": NET + "x = 1\n"})
    everything(root, Store(base, str(root)), [root / "copy"])
    assert parsed(root, base) == [[], found]


def test_what_lies_in_the_machine_is_not_remembered(root, base):
    deep = "import torch\nclass A: pass\nx = " + "-" * 100_000 + "1\n"
    write(root, {"deep.py": deep})
    found = same(root, base)
    assert "nested too deeply" in found[3][-1].message
    assert parsed(root, base)[0] == [deep]


@pytest.mark.thorough
def test_the_past_of_a_project_does_not_pile_up(root, base):
    for number in range(150):
        write(root, {"pkg/net.py": f"{NET}x = {number}\n"})
        store = Store(base, str(root))
        discover(root, list_files(root), store=store)
    memory = FactCache(Store(base, str(root)), "facts", dict)
    numbers = range(150)
    kept = [n for n in numbers if memory.get(digest(f"{NET}x = {n}\n".encode())) is not None]
    assert kept == list(numbers)[-len(kept) :]
    assert 100 < len(kept) <= 2 * len(list_importable(root)) + 100
    assert parsed(root, base)[0] == []


# --- what cannot be believed --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["facts", "imports"])
@pytest.mark.parametrize("body", [None, b"", b"\xc1", b"\x92", b"\x92\xa1a\x90", b"\x81\xa1a\x05"])
def test_an_entry_that_is_damaged_or_of_another_shape_was_never_there(root, base, name, body):
    _, found = parsed(root, base)
    store = Store(base, str(root))
    if body is None:
        path = Path(store.folder, named(name, store))
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    else:
        assert store.save(named(name, store), body)
    same(root, base)
    assert parsed(root, base) == [[], found]


WRONG = [
    b"",
    b"\xc1",
    b'{"path":"","classes":[',
    b'{"path":5}',
    b'{"path":"","names":["\xff"]}',
    b'{"path":"","classes":[{"qualname":"A","line":"1","column":1,"bases":[]}]}',
    b'{"path":"","functions":[{"name":"f","line":1,"column":1,"parameters":'
    b'[{"name":"x","required":true,"kind":"any"}]}]}',
    b'{"path":"","problem":[1,2]}',
    b"[" * 100_000,
]


def test_an_entry_of_wrong_types_was_never_there(root, base):
    """Each kind stands in the place of another file's."""
    import msgspec

    write(root, {f"wrong/net{i}.py": f"{NET}# {i}\n" for i in range(len(WRONG))})
    compiled, found = parsed(root, base)
    wrong = {path.read_bytes(): WRONG[0] for path in root.rglob("*.py")}
    wrong |= {(root / f"wrong/net{i}.py").read_bytes(): facts for i, facts in enumerate(WRONG)}
    store = Store(base, str(root))
    for name in ("facts", "imports"):
        entries = {digest(content): facts for content, facts in wrong.items()}
        assert store.save(named(name, store), msgspec.msgpack.encode(entries))
    assert parsed(root, base) == [compiled, found]
    assert len(compiled) == 4 + len(WRONG)
    same(root, base)
    assert parsed(root, base) == [[], found]


def test_what_another_version_found_is_not_asked(root, base):
    import msgspec

    same(root, base)
    store = Store(base, str(root))
    lie = dict.fromkeys(msgspec.msgpack.decode(store.load(named("facts", store))), b'{"path":""}')
    assert store.save("facts-another", msgspec.msgpack.encode(lie))
    same(root, base)
    assert store.save(named("facts", store), msgspec.msgpack.encode(lie))
    assert targets(discover(root, list_files(root), store=store)) == set()


def test_where_nothing_can_be_written_nothing_is_remembered(root, tmp_path):
    (tmp_path / "file").write_text("")
    same(root, str(tmp_path / "file/cache"))
    assert len(parsed(root, str(tmp_path / "file/cache"))[0]) == 4
    assert (tmp_path / "file").read_text() == ""
