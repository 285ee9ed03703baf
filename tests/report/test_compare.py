"""The comparison as people and programs read it, from reports made by hand."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace
from render_samples import in_lines
from report_samples import ENVIRONMENT, model

from nparam_lint.analysis.documents.compare_document import (
    Compared,
    Comparison,
    compare_document,
    letter,
)
from nparam_lint.analysis.documents.compare_pairs import distances_of
from nparam_lint.analysis.roles import RolePart, Roles
from nparam_lint.count.measured import Hidden, Measured, ModuleRow, NotMeasured
from nparam_lint.ground.notation.grammar import parse_tolerance
from nparam_lint.report import Options, formats


def column(name, parts, given="", tied=(), active=None):
    """A model with these parts: (path, type, role, count)."""
    made = tuple(RolePart(path, kind, role, n, f"held by {kind}") for path, kind, role, n in parts)
    total = sum(part.count for part in made)
    active = total if active is None else active
    embedding = sum(part.count for part in made if part.type == "Embedding")
    rows = [ModuleRow("", name, 0, total, total, 0, 4 * total, embedding, active)]
    for part in made:
        own = part.count if part.type == "Embedding" else 0
        rows.append(ModuleRow(part.path, part.type, part.count, part.count, 0, 0, 0, own))
    found = Measured(name, tuple(rows))
    target = f"nets/zoo.py::{name}"
    roles = Roles(made, tuple(tied), bool(tied))
    return Compared(given or target, model(target, found), roles, ENVIRONMENT)


DENSE = column(
    "GPT",
    [
        ("wte", "Embedding", "embedding", 38_633_472),
        ("h.0.attn", "Attention", "attention", 28_348_416),
        ("h.0.mlp", "MLP", "feed-forward", 56_669_184),
        ("ln_f", "LayerNorm", "norm", 1_536),
    ],
    tied=("lm_head.weight = wte.weight",),
)
SPARSE = column(
    "MoE",
    [
        ("embed", "Embedding", "embedding", 131_072_000),
        ("layers.0.experts", "Experts", "feed-forward", 45_098_205_184),
        ("layers.0.mix.0", "Linear", "other", 700_000_000),
        ("layers.1.mix.0", "Linear", "other", 700_000_000),
        ("head", "Linear", "output", 131_072_000),
    ],
    active=12_879_925_248,
)
ABSENT = Compared(
    "nets/zoo.py::Gone",
    model(
        "nets/zoo.py::Gone",
        NotMeasured("NPL004", "Gone needs width", hint="say width=…", cause="arguments_missing"),
    ),
)


def render(format, *columns, within=None, **options):
    found = Comparison(columns, within=within and parse_tolerance(within))
    return formats.render(format, compare_document(found), Options(**({"width": 80} | options)))


FEW = replace(
    DENSE.model.measurement,
    modules=(
        replace(DENSE.model.measurement.counts, active=None),
        *DENSE.model.measurement.modules[1:],
    ),
    no_routing="nothing says how many experts a token uses",
    hidden=(Hidden("teacher", 1_000, "list"),),
)
UNKNOWN = replace(DENSE, model=replace(DENSE.model, measurement=FEW))
ERROR = "no torch\nnext: install it"


def test_whole_outputs(expected):
    three, failed = (DENSE, ABSENT, SPARSE), compare_document(Comparison(error=ERROR))
    call = "get_unidirectional_transformer_encoder(64, 64, True, 3, 32, 4)"
    given = f"src/models/transformer/unidirectional_encoder.py::{call}"
    own = column("Own", [("table", "TiedEmbeddings", "embedding", 400), ("w", "X", "other", 600)])
    near = column("Near", [("w", "Linear", "other", 123_652_610)])
    body = column("Body", [("w", "Linear", "feed-forward", 85_019_136)])
    table = column("Table", [("w", "Embedding", "embedding", 38_633_472)])
    depths = [
        column(f"TransformerEncoder(depth={depth})", [("fc", "Linear", "other", 100)])
        for depth in (7, 8)
    ]
    outputs = {f"three models in {name}": render(name, *three) for name in ("text", "markdown")}
    outputs["which modules have which role"] = render("text", SPARSE, width=100, verbose=1)
    outputs["two models in json"] = in_lines(render("json", DENSE, ABSENT))
    outputs |= {
        f"what is too far apart, in {name}": render(name, *three, within="10%")
        for name in ("text", "concise", "markdown")
    }
    expected(
        outputs
        | {
            "what is too far apart, quiet": render("text", DENSE, SPARSE, within="10%", quiet=True),
            "all that are near enough": render("text", DENSE, near, DENSE, within="1%", quiet=True),
            "all of one size, concise": render("concise", DENSE, DENSE, within="0"),
            "a long target breaks after its file": render("text", replace(DENSE, given=given)),
            "what is not known and not counted": render("text", UNKNOWN, width=120),
            "a model without parameters has no ratio": render("text", column("Empty", []), DENSE),
            "embeddings of another class are non-embedding": render("text", own),
            "a total is another measure of a model beside it": render("text", DENSE, body, table),
            "heads that are cut keep what differs": render("text", *depths, width=40),
            "how far apart each two are": "".join(how_far_apart(*case) for case in DISTANCES),
            "nothing could be counted, in markdown": formats.render("markdown", failed, Options()),
        }
    )
    assert formats.render("text", failed, Options()) == ""
    assert json.loads(formats.render("json", failed, Options()))["error"] == ERROR


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(width, count):
    columns = [DENSE, SPARSE, DENSE, SPARSE, DENSE, SPARSE, DENSE, SPARSE, DENSE][:count]
    for verbose in (0, 1):
        out = render("text", *columns, width=width, verbose=verbose)
        assert max(map(len, out.splitlines())) <= width
        assert out.count("38,633,472") >= (count + 1) // 2
        assert out.count("45,098,205,184") >= count // 2


def test_shares_go_before_a_table_is_split():
    assert "31.2 %" in render("text", DENSE, SPARSE, width=80)
    narrow = render("text", DENSE, SPARSE, DENSE, SPARSE, width=80)
    assert "31.2 %" not in narrow
    assert narrow.count("\nembedding ") == 1
    assert render("text", *[SPARSE] * 6, width=80).count("\nembedding ") == 2


def test_colour_changes_nothing_but_the_colours():
    plain = render("text", DENSE, ABSENT, SPARSE, verbose=1)
    coloured = render("text", DENSE, ABSENT, SPARSE, verbose=1, color=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_a_name_cannot_move_the_cursor():
    out = render("text", replace(DENSE, given="a.py::X('\x1b[2J')"), verbose=1)
    assert "\x1b" not in out
    assert r"\x1b[2J" in out


# A percentage orders by proportion, a number by the difference; of nothing, everything is
# infinitely far.
DISTANCES = [
    *(([100, 110], "10%"), ([111, 100], "10%"), ([100, 111], "11"), ([100, 112], "11")),
    *(([100, 100], "0"), ([10**30, 10**30 + 1], "0%"), ([None, 100], "10%"), ([100], "10%")),
    *(([1000, 1100, 10, 20], "50%"), ([1000, 10, 20, 1100], "985"), ([0, 5, 0], "900%")),
]


def how_far_apart(totals, within):
    distances = distances_of(totals, parse_tolerance(within))
    pairs = distances.pairs if distances else ()
    said = [("" if pair.is_within else "! ") + pair.words("ABCD") for pair in pairs]
    return f"{totals} within {within}\n" + "".join(f"    {line}\n" for line in said)


def test_letters():
    assert [letter(n) for n in (0, 1, 25, 26, 27, 51, 52, 701, 702)] == (
        "A B Z AA AB AZ BA ZZ AAA".split()
    )
