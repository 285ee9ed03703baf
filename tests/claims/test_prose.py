from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.discover.claims.prose import split_claims
from nparam_lint.ground.values import DocLine

PROPERTY = settings(max_examples=80)


def claims_of(text: str):
    return split_claims([DocLine(line, n, 5) for n, line in enumerate(text.split("\n"), 1)])[0]


OTHERS = [
    *("ImageNet-1k weights", "Conv(1, 4) -> Act  # 40 params", "Linear(392, 10)    # 3,930 params"),
    *("Parameters\n----------\nx : int", "Parameters: x (int): 1000 of them"),
    *("Parameters: 128, 256", "Params (M): 128, 256", "**Parameters**: `image` (224)"),
    *("# of parameters: 3", "Args:\n    params: 300 iterations", "params: 224 x 224"),
    *("params (int): 1000", "2 parameters", "takes 300 parameters", "1000 classes"),
    *("a 7B-style model", "1200 params per channel", "120 params/channel"),
    *("0.5% of the parameters", "10% params", "fewer than X's 25M params"),
    *("compared to 86M params of ViT-B", "vs. 86M params", "86M params of ViT-B"),
    *("27M params at 224x224", "from 5M to 66M parameters", "sizes between 5M and 66M parameters"),
    *("5M-66M params", "up to 7B params", "for 7B-parameter models"),
    *("each block has 1.2M parameters", "The encoder has 5M params", "Encoder: 5M params"),
    *("adds 1.2M params", "tiny: 28M params\nbase: 88M params"),
    *("A small model (28M params)\nA base model (88M params)", "| tiny | 28M params |"),
    *(">>> count(model)  # 4266 params", "hyperparameters: 1000", "num_params: 1000"),
    *("ResNet-50M params", "27M+ params", "3e-4 params", "nparam: 86M params"),
    *("nparam:\n  5M # 6M params", f"{'9' * 5000} params"),
]


def test_other_numbers_are_no_claims() -> None:
    assert {text: claims_of(text) for text in OTHERS} == {text: [] for text in OTHERS}


@PROPERTY
@given(
    st.sampled_from(["", "A model. ", "Bla\nbla, ", "It has ", "ViT (", "Model size: "]),
    st.sampled_from(["27M", "~2K", "1.5B", "4,266", "3-4M", "under 25k", "108 M", "3.8 million"]),
    st.sampled_from([" params", " parameters.", " trainable parameters", "-parameter model"]),
)
def test_columns_point_at_the_count(lead: str, count: str, noun: str) -> None:
    text = f"{lead}{count}{noun}"
    (claim,) = claims_of(text)
    assert text.split("\n")[claim.line - 1][claim.column - 5 :].startswith(count)


@PROPERTY
@given(
    st.lists(
        st.text("0123456789.,_-~kKMB %:=#<\u212a", max_size=12).map(lambda text: f"{text} params")
        | st.text("0123456789.,_-~kKMB \xa0", max_size=12).map(lambda text: f"params: {text}")
        | st.text(max_size=15),
        max_size=4,
    )
)
def test_any_docstring_can_be_read(texts: list[str]) -> None:
    claims, _ = split_claims([DocLine(text, n, 1) for n, text in enumerate(texts, 1)])
    for claim in claims:
        assert claim.value.names == frozenset()
        assert claim.value.bounds().low is not None
        assert 1 <= claim.column <= len(texts[claim.line - 1])
