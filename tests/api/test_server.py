"""What is seen in an editor of a folder that is trusted; one server for all."""

import asyncio
import os
from pathlib import Path

import pytest
import pytest_asyncio
from case_books import Book
from editor import Editor
from lsprotocol import types
from processes import has_reader, reading
from sample_repository import Sample

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = Book(Path(__file__).with_name("server_files.txt")).files
LAYER, NET = FILES["layer.py"], FILES["net.py"]


def changed(path):
    change = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
    return types.DidChangeWatchedFilesParams([change])


@pytest.fixture(scope="module")
def root(tmp_path_factory, environ):
    sample = Sample.create(tmp_path_factory.mktemp("server") / "project", environ)
    config = '[tool.nparam-lint]\ndevice = "meta"\n'
    sample.committed(FILES | {"pyproject.toml": config})
    return sample.path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(environ, root):
    editor = Editor(environ)
    await editor.start(root, settings={"trust": True})
    yield editor
    await editor.stop()
    assert await editor.process.wait() == 0


@pytest_asyncio.fixture(loop_scope="module")
async def net(editor, root):
    """net.py as it was committed, open and checked."""
    path = root / "net.py"
    if path not in editor.texts:
        path.write_text(NET, "utf-8")
        await editor.open(path)
    elif editor.texts[path] != NET or path.read_text("utf-8") != NET:
        editor.write(path, NET)
    await editor.until(lambda: editor.codes(path) == ["NPL010"])
    return path


async def test_what_each_line_makes_and_what_each_class_is(editor, net):
    assert await editor.hints(net) == {15: "⟵ 99.3k · 3× · 99.3 %", 16: "⟵ 650 · 0.7 %"}
    assert await editor.lenses(net) == {
        6: "99,914 parameters · budget holds",
        19: "0 parameters · no budget",  # since its layers are in a plain list
    }


async def test_a_finding_is_shown_at_its_number_until_it_is_mended(editor, net):
    wrong = editor.texts[net].replace("99_914", "12_345")
    editor.write(net, wrong)
    await editor.until(lambda: "NPL001" in editor.codes(net))
    said = "Net has 99,914 parameters, declared 12,345: +87,569 (+709.35 %)"
    assert f"10:13-19 NPL001 error {said}" in editor.shown(net)
    (one,) = [d for d in editor.client.diagnostics[net.as_uri()] if d.code == "NPL001"]
    page = one.code_description.href.removeprefix("file://")
    with Path(page).open(encoding="utf-8") as stream:
        assert stream.readline() == "# NPL001 count-outside-budget\n"
    editor.write(net, wrong.replace("12_345", "99_914"))
    await editor.until(lambda: editor.codes(net) == ["NPL010"])


async def test_lines_that_are_not_saved_have_no_hints_and_the_others_keep_theirs(editor, net):
    before = editor.texts[net]
    edited = before.replace("n=3):\n", "n=3):\n        # more\n").replace("(d, 10)", "(d, 99)")
    editor.edit(net, edited)
    assert await editor.hints(net) == {16: "⟵ 99.3k · 3× · 99.3 %"}
    assert sorted(await editor.lenses(net)) == [6, 20]
    editor.edit(net, before)
    assert sorted(await editor.hints(net)) == [15, 16]


async def test_the_tables_of_a_class_and_of_a_line(editor, net):
    table = await editor.hover(net, 6)
    assert table.startswith("Net(): 99,914 parameters · budget holds\n")
    assert (
        "  h.0 … h.2 (3×)  Block              3 × 33,088   99.3 %  █████████▉  net.py:15" in table
    )
    assert "- **trainable** 99,914" in table
    assert await editor.hover(net, 16) == (
        "**650 parameters**: 0.7 % of `Net()`\n\n"
        "| module | type | parameters |\n|---|---|---:|\n| `fc` | Linear | 650 |"
    )
    assert await editor.hover(net, 1) == ""


async def test_a_finding_says_which_lines_made_the_difference(editor, net):
    editor.write(net, editor.texts[net].replace("nn.Linear(d, 10)", "nn.Linear(d, 12)"))
    uri = net.as_uri()

    def related():
        diagnostics = [d for d in editor.client.diagnostics[uri] if d.code == "NPL001"]
        return [place for one in diagnostics for place in one.related_information or ()]

    await editor.until(related)
    edited, change = related()
    assert (edited.location.uri, edited.location.range.start.line) == (uri, 15)
    assert edited.message.endswith(": this line changed")
    assert change.message == "~ fc  10×64 → 12×64  +130"


async def test_a_budget_is_updated_by_the_editor(editor, net):
    editor.write(net, editor.texts[net].replace("(d, 10)", "(d, 12)"))
    await editor.until(lambda: "NPL001" in editor.codes(net))
    actions = await editor.actions(net, 10)
    assert list(actions) == [
        "Update the budget of Net: it has 100,044",
        "Explain NPL001: count-outside-budget",
    ]
    edit = await editor.choose(actions["Update the budget of Net: it has 100,044"])
    assert "99_914" in net.read_text("utf-8")  # nothing is written by the server
    editor.apply(edit)
    assert "    nparam: 100_044\n" in editor.texts[net]
    await editor.until(lambda: editor.codes(net) == ["NPL010"])


async def test_a_file_that_is_not_saved_is_not_edited(editor, net):
    editor.write(net, editor.texts[net].replace("(d, 10)", "(d, 12)"))
    await editor.until(lambda: "NPL001" in editor.codes(net))
    actions = await editor.actions(net, 10)
    editor.edit(net, editor.texts[net] + "\n")
    assert await editor.choose(actions["Update the budget of Net: it has 100,044"]) is None
    assert "net.py has changes that are not saved; next: save it" in editor.messages


async def test_a_budget_is_declared(editor, net):
    text = editor.texts[net]
    editor.write(net, text.replace("[nn.Linear(2, 2)]", "nn.ModuleList([nn.Linear(2, 2)])"))
    await editor.until(lambda: editor.codes(net) == [])
    actions = await editor.actions(net, 19)
    assert list(actions) == ["Declare a budget for Small"]
    editor.apply(await editor.choose(actions["Declare a budget for Small"]))
    assert '    """nparam: 4"""\n' in editor.texts[net]
    await editor.until(lambda: net.as_uri() in editor.client.diagnostics)


async def test_a_formula_is_judged_by_each_edit(editor, root):
    """Its check shares the imports of one run, and not those of the run before."""
    path = root / "formula.py"
    said = '    """nparam: 10*d + 10"""\n\n    def __init__(self, d=4):'
    body = "        super().__init__()\n        self.fc = nn.Linear(d, 10)\n"
    path.write_text(f"from torch import nn\n\n\nclass F(nn.Module):\n{said}\n{body}", "utf-8")
    await editor.open(path)
    assert editor.codes(path) == []
    for _ in range(2):
        right = editor.texts[path]
        editor.write(path, right.replace("(d, 10)", "(d, 11)"))
        await editor.until(lambda: editor.codes(path) == ["NPL001"])
        editor.write(path, right)
        await editor.until(lambda: editor.codes(path) == [])
    editor.close(path)


@pytest.mark.usefixtures("net")
async def test_a_rule_is_explained_on_a_page_of_its_own(editor):
    await editor.command("nparam-lint.rule", "NPL010")
    (shown,) = editor.client.shown_documents[-1:]
    with Path(shown.uri.removeprefix("file://")).open(encoding="utf-8") as stream:
        assert stream.readline() == "# NPL010 unregistered-parameters\n"


@pytest.mark.parametrize(
    ("line", "some"),
    [
        (
            "nparam[",
            {"trainable": "trainable parameters", "fc": "Linear, 650 parameters", "h.*.up": None},
        ),
        ("nparam[h.0.", {"h.0.up": "Linear, 16,640 parameters"}),
        ("nparam[fc, tr", {"trainable": None}),
        ("nparam: ", {"99_914": "exactly what Net() has now", "100k": None, "<= 99_914": None}),
        ("nparam[fc, bytes]: ", {"2_600": None}),
        ("np", {"nparam: 99_914": "the count of Net()"}),
        ("a word, np", {}),
    ],
)
async def test_what_may_follow_in_a_budget(editor, net, line, some):
    editor.edit(net, editor.texts[net].replace("nparam: 99_914", line))
    found = await editor.complete(net, 10)
    assert bool(found) == bool(some)
    for text, note in some.items():
        assert text in found, found
        assert note in (None, found[text])


async def test_a_layer_has_the_lines_of_the_models_that_use_it(editor, root, net):
    layer = root / "layer.py"
    await editor.open(layer)
    hints = await editor.hints(layer)
    assert hints == {7: "⟵ 49.9k · 3× · 50.0 %", 8: "⟵ 49.3k · 3× · 49.4 %"}
    assert await editor.lenses(layer) == {4: "33,088 parameters · 3× in Net"}
    # An edit of it breaks a budget elsewhere, which is shown there.
    editor.write(layer, LAYER.replace("4 * d, d)", "4 * d, d, bias=False)"))
    await editor.until(lambda: "NPL001" in editor.codes(net))
    assert (await editor.hints(net))[15] == "⟵ 99.1k · 3× · 99.3 %"
    editor.write(layer, LAYER)
    await editor.until(lambda: "NPL001" not in editor.codes(net))
    editor.close(layer)


async def test_a_wrong_config_is_shown_at_its_line(editor, root, net):
    config = root / "pyproject.toml"
    right = config.read_text("utf-8")
    config.write_text(right + 'tolerence = "1%"\n', "utf-8")
    editor.client.workspace_did_change_watched_files(changed(config))
    await editor.until(lambda: editor.shown(config))
    (said,) = editor.shown(config)
    assert said.startswith("3:1-17 None error unknown config key 'tolerence'; did you mean")
    config.write_text(right, "utf-8")
    editor.client.workspace_did_change_watched_files(changed(config))
    await editor.until(lambda: not editor.shown(config))
    await editor.until(lambda: editor.codes(net) == ["NPL010"])


@pytest.mark.thorough
async def test_what_takes_long_gives_way_to_a_newer_edit(editor, net, tmp_path):
    """The first edit would build for ever; the second need not wait for its limit of time."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    before = editor.texts[net]
    slow = before.replace("        self.fc", f"        {reading(pipe)}\n        self.fc")
    editor.write(net, slow)
    await editor.until(lambda: has_reader(pipe))
    editor.write(net, before.replace("99_914", "<= 100_000").replace("(d, 10)", "(d, 11)"))
    while "99,979 parameters · budget holds" not in (await editor.lenses(net)).values():
        await asyncio.sleep(0.02)
    assert not has_reader(pipe)
