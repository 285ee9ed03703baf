"""The comparison as people and programs read it, from reports made by hand."""

from __future__ import annotations

import json

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from report_samples import ENVIRONMENT, model

from nparam_lint.analysis.documents.compare_document import (
    Compared,
    Comparison,
    compare_document,
    letter,
)
from nparam_lint.analysis.documents.compare_pairs import distances_of
from nparam_lint.analysis.roles import RolePart, Roles
from nparam_lint.claims.grammar import parse_tolerance
from nparam_lint.count.measured import Hidden, Measured, ModuleRow, NotMeasured
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


TEXT = """\
A  nets/zoo.py::GPT
B  nets/zoo.py::Gone
   – not measured: Gone needs width
     say width=…
C  nets/zoo.py::MoE

                             A GPT                    C MoE
─────────────  ───────────────────  ───────────────────────
embedding       38,633,472  31.2 %      131,072,000   0.3 %
attention       28,348,416  22.9 %                –
feed-forward    56,669,184  45.8 %   45,098,205,184  96.4 %
norm                 1,536  <0.1 %                –
output                tied              131,072,000   0.3 %
other                    –            1,400,000,000   3.0 %
─────────────  ───────────────────  ───────────────────────
total          123,652,608           46,760,349,184
against A                           +46,636,696,576
                                            × 378.2
─────────────  ───────────────────  ───────────────────────
trainable      123,652,608           46,760,349,184
non-embedding   85,019,136  68.8 %   46,629,277,184  99.7 %
active         123,652,608           12,879,925,248  27.5 %
bytes          494,610,432          187,041,396,736

A  tied, counted once: lm_head.weight = wte.weight
C  other: layers.*.mix.* (Linear) 1,400,000,000
"""


def test_text():
    assert render("text", DENSE, ABSENT, SPARSE) == TEXT


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


def test_a_long_target_breaks_after_its_file_and_is_never_cut():
    call = "get_unidirectional_transformer_encoder(64, 64, True, 3, 32, 4)"
    given = f"src/models/transformer/unidirectional_encoder.py::{call}"
    out = render("text", replace(DENSE, given=given))
    assert f"A  src/models/transformer/unidirectional_encoder.py::\n   {call}\n" in out


def test_colour_changes_nothing_but_the_colours():
    import re

    plain = render("text", DENSE, ABSENT, SPARSE, verbose=1)
    coloured = render("text", DENSE, ABSENT, SPARSE, verbose=1, color=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_quiet_leaves_the_notes_out():
    assert "tied, counted once" in render("text", DENSE)
    assert "tied, counted once" not in render("text", DENSE, quiet=True)


def test_what_is_not_known_and_not_counted_is_said():
    found = DENSE.model.measurement
    found = replace(
        found,
        modules=(replace(found.counts, active=None), *found.modules[1:]),
        no_routing="nothing says how many experts a token uses",
        hidden=(Hidden("teacher", 1_000, "list"),),
    )
    column = replace(DENSE, model=replace(DENSE.model, measurement=found))
    out = render("text", column, width=120)
    assert "active             unknown\n" in out
    assert "A  active: nothing says how many experts a token uses\n" in out
    told = "A  not counted: teacher: 1,000 parameters that parameters() does not return (list)"
    assert told in out


def test_a_name_cannot_move_the_cursor():
    out = render("text", replace(DENSE, given="a.py::X('\x1b[2J')"), verbose=1)
    assert "\x1b" not in out
    assert r"\x1b[2J" in out


def test_a_model_without_parameters_has_no_ratio():
    out = render("text", column("Empty", []), DENSE).splitlines()
    at = next(i for i, line in enumerate(out) if line.startswith("against A"))
    assert out[at].split() == ["against", "A", "+123,652,608"]
    assert out[at + 1].startswith("─")


def test_embeddings_of_another_class_are_said_to_count_as_non_embedding():
    own = column("Own", [("table", "TiedEmbeddings", "embedding", 400), ("w", "X", "other", 600)])
    told = "A  non-embedding: with 400 embedding parameters outside nn.Embedding\n"
    assert told in render("text", own)
    assert "non-embedding: with" not in render("text", DENSE)


def test_json():
    document = json.loads(render("json", DENSE, ABSENT))
    assert document["summary"] == {"models": 2, "measured": 1, "not_measured": 1, "seconds": 0.0}
    dense, absent = document["models"]
    assert dense["roles"] == {
        "embedding": 38_633_472,
        "attention": 28_348_416,
        "feed-forward": 56_669_184,
        "recurrent": 0,
        "convolution": 0,
        "norm": 1_536,
        "output": 0,
        "other": 0,
    }
    assert dense["tied"] == ["lm_head.weight = wte.weight"]
    assert dense["parts"][0] == {
        "path": "wte",
        "type": "Embedding",
        "role": "embedding",
        "count": 38_633_472,
        "because": "held by Embedding",
    }
    assert (absent["status"], absent["reason"]) == ("not_measured", "Gone needs width")
    # What one of them has, the other has too, but for what says why it was not measured.
    assert set(dense) - set(absent) == {"no_routing", "output_tied", "hidden"}
    assert set(absent) - set(dense) == {"code", "hint", "missing"}


def test_markdown():
    out = render("markdown", DENSE, ABSENT, SPARSE)
    html = MarkdownIt().enable("table").render(out)
    assert html.count("<tr>") == 1 + 6 + 3 + 4
    assert '<td style="text-align:right">38,633,472 (31.2 %)</td>' in html
    assert "<strong>123,652,608</strong>" in html
    assert "<code>nets/zoo.py::Gone</code>: not measured: Gone needs width" in html


def test_an_error_is_a_document_too():
    error = "no torch\nnext: install it"
    failed = compare_document(Comparison(error=error))
    assert formats.render("text", failed, Options()) == ""
    assert json.loads(formats.render("json", failed, Options()))["error"] == error
    assert formats.render("markdown", failed, Options()) == (
        "```text\nno torch\nnext: install it\n```\n"
    )


@pytest.mark.parametrize(
    ("totals", "within", "expected"),
    [
        ([100, 110], "10%", ["B is larger than A by 10 (+10.00 %)"]),
        ([111, 100], "10%", ["! A is larger than B by 11 (+11.00 %)"]),
        ([100, 111], "11", ["B is larger than A by 11 (+11.00 %)"]),
        ([100, 112], "11", ["! B is larger than A by 12 (+12.00 %)"]),
        ([100, 100], "0", ["B is larger than A by 0 (+0.00 %)"]),
        ([10**30, 10**30 + 1], "0%", ["! B is larger than A by 1 (+0.00 %)"]),
        ([None, 100], "10%", None),
        ([100], "10%", None),
        # A percentage orders by proportion, a number by the difference.
        (
            [1000, 1100, 10, 20],
            "50%",
            [
                "! B is larger than C by 1,090 (× 110.0)",
                "! A is larger than C by 990 (× 100.0)",
                "! B is larger than D by 1,080 (× 55.0)",
                "! A is larger than D by 980 (× 50.0)",
                "! D is larger than C by 10 (× 2)",
                "B is larger than A by 100 (+10.00 %)",
            ],
        ),
        (
            [1000, 10, 20, 1100],
            "985",
            [
                "! D is larger than B by 1,090 (× 110.0)",
                "! D is larger than C by 1,080 (× 55.0)",
                "! A is larger than B by 990 (× 100.0)",
                "A is larger than C by 980 (× 50.0)",
                "D is larger than A by 100 (+10.00 %)",
                "C is larger than B by 10 (× 2)",
            ],
        ),
        # Of nothing, everything is infinitely far.
        (
            [0, 5, 0],
            "900%",
            ["! B is larger than A by 5", "! B is larger than C by 5", "C is larger than A by 0"],
        ),
    ],
)
def test_how_far_apart_each_two_are(totals, within, expected):
    distances = distances_of(totals, parse_tolerance(within))
    said = distances and [
        ("" if pair.is_within else "! ") + pair.words("ABCD") for pair in distances.pairs
    ]
    assert said == expected


def test_what_is_further_apart_stands_below_the_counts_in_every_format():
    shown = render("text", DENSE, ABSENT, SPARSE, within="10%")
    far = """
not within 10%         difference
────────────────  ───────────────  ───────
C larger than A   +46,636,696,576  × 378.2
"""
    assert shown == TEXT.replace("\nA  tied", f"{far}\nA  tied")
    assert render("text", DENSE, SPARSE, within="10%", quiet=True).endswith(
        far.replace("C", "B", 1)
    )
    concise = render("concise", DENSE, SPARSE, within="50B")
    assert concise.splitlines()[2:] == [
        "within 50B: nets/zoo.py::MoE is larger than nets/zoo.py::GPT by 46,636,696,576 (× 378.2)"
    ]
    markdown = render("markdown", DENSE, SPARSE, within="10%")
    assert "| B larger than A | +46,636,696,576 | × 378.2 |" in markdown


def test_all_that_are_near_enough_are_one_line():
    near = column("Near", [("w", "Linear", "other", 123_652_610)])
    three = render("text", DENSE, near, DENSE, within="1%", quiet=True)
    said = "all that were counted are within 1%; furthest apart: B is larger than A by 2 (+0.00 %)"
    assert " ".join(three.split()).endswith(said)
    assert render("concise", DENSE, DENSE, within="0").splitlines()[-1] == "within 0: of equal size"


def test_a_total_that_is_another_measure_of_a_model_beside_it_is_said_to_be():
    beside = column("Body", [("w", "Linear", "feed-forward", 85_019_136)])
    table = column("Table", [("w", "Embedding", "embedding", 38_633_472)])
    notes = render("text", DENSE, beside, table).partition("\n\nA  ")[2]
    assert (
        notes
        == """\
the total of B is its parameters without embeddings: 85,019,136
A  the total of C is its wte alone: 38,633,472
A  tied, counted once: lm_head.weight = wte.weight
"""
    )


def test_letters():
    assert [letter(n) for n in (0, 1, 25, 26, 27, 51, 52, 701, 702)] == (
        "A B Z AA AB AZ BA ZZ AAA".split()
    )


def test_heads_that_are_cut_keep_the_end_by_which_they_differ():
    parts = [("fc", "Linear", "other", 100)]
    models = [column(f"TransformerEncoder(depth={depth})", parts) for depth in (7, 8)]
    out = formats.render("text", compare_document(Comparison(tuple(models))), Options(width=40))
    assert f"{'':15}A Tr…pth=7)  B Tr…pth=8)" in out.splitlines()
