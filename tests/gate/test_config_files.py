"""Recipes for config files, and budgets in their comments; more is on pages/config_families.md."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sample_files import write_files

from nparam_lint.discover.claims.comment_budgets import parse_comments

FILES = {
    "net.py": "from torch import nn\n\n\ndef build(path):\n    return nn.Linear(5, 5, False)\n",
    "nparam-lint.toml": '[arguments]\n"*.yaml" = { call = "net.py::build(path)" }\n',
    "wrong.yaml": "d: 4\r\nh: 5   # NParam [trainable] : 26\r\n",
}


def test_update_changes_the_number_alone(nparam_lint, tmp_path):
    place = write_files(tmp_path, FILES)
    done = nparam_lint("update", "wrong.yaml", "--device", "meta", cwd=place)
    assert "26 → 25" in done.stdout, done.stdout + done.stderr
    text = (place / "wrong.yaml").read_bytes().decode()
    assert text == FILES["wrong.yaml"].replace("26", "25")


@given(
    st.lists(st.sampled_from(["a: 1", "b: 'x#y'", 'c: "# nparam: 3"', "d: it's", "#", ""])),
    st.sampled_from(["", "  ", "key: value  ", "it's: x  "]),
)
def test_a_comment_is_found_wherever_it_stands(lines, before):
    text = "\n".join([*lines, f"{before}# nparam: 124M"])
    declared, _ = parse_comments("a.yaml", text)
    assert [(d.value.text, d.line) for d in declared] == [("124M", len(lines) + 1)]
