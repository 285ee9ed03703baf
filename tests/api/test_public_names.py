"""What is public, with its signatures: what a change of this list breaks, somebody uses."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import nparam_lint
from nparam_lint.ground.errors import UsageError

SIGNATURES = {
    "Counts": "(measured: 'Measured') -> None",
    "Finding": None,
    "ModuleRow": None,
    "ParameterRow": None,
    "Report": None,
    "UsageError": None,
    "__version__": None,
    "assert_nparams": "(model: 'Callable[..., Any] | Counts', expected: 'str | int', *, "
    "metric: 'str' = 'total', module: 'str' = '', tolerance: 'str | int | None' = None) "
    "-> 'Counts'",
    "check": "(path: 'str | os.PathLike[str]' = '.', *, config: 'str | os.PathLike[str] | None' "
    "= None, declared: 'bool' = False, static: 'bool' = False) -> 'Report'",
    "count": "(model: 'Callable[..., Any]', /, *args: 'Any', **kwargs: 'Any') -> 'Counts'",
}
MEMBERS = (
    "active buffers bytes call frozen hidden measured modules non_embedding notes of parameters "
    "to_dict total trainable"
)


def test_the_list_of_public_names():
    assert nparam_lint.__all__ == [*SIGNATURES]
    for name, signature in SIGNATURES.items():
        found = getattr(nparam_lint, name)
        if signature:
            assert str(inspect.signature(found)) == signature, name
        if name != "__version__":
            assert found.__doc__, name


def test_the_members_of_counts():
    names = [name for name in dir(nparam_lint.Counts) if name[0] != "_"]
    assert names == MEMBERS.split()
    for name in names[:-1]:
        if name != "measured":
            assert getattr(nparam_lint.Counts, name).__doc__, name


def test_nothing_is_loaded_before_it_is_used():
    said = (
        "import sys, nparam_lint; print([m for m in sys.modules if m.startswith('nparam_lint.')]); "
        "nparam_lint.Counts; from nparam_lint import count; import nparam_lint.count.run; "
        "print(nparam_lint.count is count, callable(count), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", said], capture_output=True, encoding="utf-8", check=True
    )
    loaded = "['nparam_lint.ground', 'nparam_lint.ground.late']"
    assert done.stdout.splitlines() == [loaded, "True True False"]


@pytest.mark.thorough
def test_it_is_typed(tmp_path):
    file = tmp_path / "use.py"
    file.write_text(
        "import nparam_lint\nfrom nparam_lint import assert_nparams, check, count\n\n"
        "reveal_type(nparam_lint.count(print))\nreveal_type(count(print).total)\n"
        "reveal_type(check('.').ok)\n"
        "reveal_type(assert_nparams(print, 1, metric='bytes')[''].own)\n"
        "assert_nparams(print)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(file)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    types = [line.partition('"')[2][:-1] for line in done.stdout.splitlines() if "Revealed" in line]
    assert types == ["nparam_lint.api.counts.Counts", "int", "bool", "int"]
    assert 'Missing positional argument "expected"' in done.stdout
    assert (Path(nparam_lint.__file__).parent / "py.typed").is_file()


def test_names_that_are_not_public_are_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nparam_lint.nothing  # noqa: B018


MODELS = '''from torch import nn


class Net(nn.Linear):
    """A net.

    nparam: {}
    """

    def __init__(self):
        super().__init__(4, 4)
'''


def test_check(tmp_path):
    (tmp_path / "nparam-lint.toml").write_text('device = "meta"\n')
    (tmp_path / "right.py").write_text(MODELS.format(20))
    (tmp_path / "wrong.py").write_text(MODELS.format(21))
    report = nparam_lint.check(tmp_path)
    assert (report.ok, [found.code for found in report.findings]) == (False, ["NPL001"])
    assert "20 parameters, declared 21: -1" in report.findings[0].message
    report = nparam_lint.check(tmp_path / "right.py")
    assert (report.ok, [model.target for model in report.models]) == (True, ["right.py::Net"])
    assert nparam_lint.check(tmp_path, static=True).models == ()


@pytest.mark.parametrize(
    ("config", "path", "said"),
    [
        ("", "gone.py", "there is no file or directory"),
        ("tim = 1", ".", "nparam-lint.toml:1:1: unknown config key 'tim'; did you mean timeout?"),
        ("python = 'gone'", ".", "gone"),
    ],
)
def test_what_cannot_be_checked(tmp_path, config, path, said):
    (tmp_path / "nparam-lint.toml").write_text(config)
    (tmp_path / "net.py").write_text(MODELS.format(20))
    with pytest.raises(UsageError) as caught:
        nparam_lint.check(tmp_path / path)
    assert said in str(caught.value)


def test_a_project_inside_is_not_judged_by_the_settings_above_it(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "top.py").write_text(MODELS.format(20))
    (tmp_path / "a/net.py").write_text(MODELS.format(20))
    (tmp_path / "a/nparam-lint.toml").write_text('[budgets]\n"net.py::Net" = 21\n')
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "nparam-lint.toml"
    config.write_text('device = "meta"\n')
    for path, more in ((".", {}), ("a", {"config": config}), ("a/net.py", {"config": config})):
        with pytest.raises(UsageError, match=r"a is a project of its own, .*\n.*check\('a'\)\n"):
            nparam_lint.check(path, **more)
    assert [model.target for model in nparam_lint.check("top.py").models] == ["top.py::Net"]
    config.write_text('exclude = ["a/**"]\n')
    assert nparam_lint.check().ok
    assert [found.code for found in nparam_lint.check("a").findings] == ["NPL001"]


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/api.md").read_text("utf-8")
    blocks = [text.partition("```")[0] for text in page.split("```python\n")[1:]]
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "nparam-lint.toml").write_text('device = "meta"\n')
    for number, block in enumerate(blocks):
        file = tmp_path / f"example_{number}.py"
        file.write_text(block)
        names: dict[str, object] = {"__name__": file.stem}
        for node in ast.parse(block).body:  # what a line shows stands beside it
            line = block.splitlines()[node.end_lineno - 1]
            code = compile(ast.Module([node], []), str(file), "exec")
            if isinstance(node, ast.Expr) and "  # " in line:
                value = eval(compile(ast.Expression(node.value), str(file), "eval"), names)
                assert repr(value) == line.partition("  # ")[2], line
            else:
                exec(code, names)
        for name, value in names.copy().items():
            if name.startswith("test_"):
                value(
                    *([nparam_lint.assert_nparams] if inspect.signature(value).parameters else [])
                )
