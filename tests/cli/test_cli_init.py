"""`nparam-lint init` in a project that has another inside, and of files with two names. What it
writes, and where, is on the page `init.md`."""

import pytest
from sample_files import write_files


@pytest.fixture(scope="module")
def init(nparam_lint):
    def run(root, *arguments, **more):
        return nparam_lint("init", *arguments, "--device", "meta", cwd=root, **more)

    return run


HEAD = "from torch import nn\n\n\n"
SIZED = "class Net(nn.Linear):\n    def __init__(self, d):\n        super().__init__(d, d)\n"
SCRIPT = """\
from net import Net

if __name__ == "__main__":
    sizes = {}
    sizes["d"] = 3
    net = Net(**sizes)
"""


def test_the_check_says_how_to_declare_what_can_be(tmp_path, nparam_lint):
    root = write_files(tmp_path, {"net.py": HEAD + SIZED, "train.py": SCRIPT})
    (screen,) = [line for line in nparam_lint(cwd=root).stdout.splitlines() if "To hold" in line]
    assert screen.endswith("say in the config how the model is built: [arguments]")
    for call in ("Net(D)", "Net(3)"):
        (root / "eval.py").write_text(f"from net import Net\nD = 3\nnet = {call}\n")
        said = nparam_lint(cwd=root).stdout
        assert "\nNothing is declared yet. To hold these counts: nparam-lint init" in said


@pytest.mark.parametrize(
    ("options", "command", "written"),
    [
        ([], "init", "b c/net.py"),
        (["--all"], "init", "b c/net.py"),
        (["--claims"], "init --claims", "b c/README.md"),
    ],
)
def test_a_project_inside_is_left_to_its_own_settings(
    tmp_path, init, contents, options, command, written
):
    """Its config says what is left out, and how models are built."""
    files = {
        "top.py": "x = 1\n",
        "b c/net.py": HEAD + SIZED,
        "b c/vendored/net.py": HEAD + SIZED.replace("d)", "d=4)", 1),
        "b c/nparam-lint.toml": 'exclude = ["vendored/**"]\n[arguments]\n"net.py::Net" = "d=99"\n',
        "b c/README.md": "`Net` has 9,900 parameters.\n",
    }
    root = write_files(tmp_path / "project", files)
    done = init(root, *options)
    said = f"nparam-lint: b c is a project of its own; next: nparam-lint {command} 'b c'\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert contents(root) == files
    done = init(root, *options, "b c")
    assert (done.returncode, done.stderr) == (0, "")
    after = contents(root)
    assert [name for name in files if after[name] != files[name]] == [written]


def test_a_file_with_two_names_is_written_once(nparam_lint, tmp_path):
    net = HEAD + SIZED.replace("d)", "width=10)", 1).replace("d, d", "width, width")
    config = "_target_: net.Net\nwidth: 3\n"
    files = {"net.py": net, "sub/other.py": net.replace("Net", "Other"), "sub/a.yaml": config}
    root = write_files(tmp_path / "links", files)
    for name in ("a.yaml", "other.py"):
        (root / name).symlink_to(f"sub/{name}")
    done = nparam_lint("init", "--device", "meta", cwd=root)
    assert done.returncode == 0, done.stderr
    text = (root / "a.yaml").read_text()
    assert text == "_target_: net.Net  # nparam: 12\nwidth: 3\n"
    assert (root / "other.py").read_text().count("nparam: 110") == 1
    (root / "sub/a.yaml").write_text(text.replace("12", "11"))
    done = nparam_lint("update", "--device", "meta", cwd=root)
    assert done.returncode == 0, done.stderr
    assert (root / "a.yaml").read_text() == text
    assert (root / "a.yaml").is_symlink()
