"""A parameter count that a docstring mentions is wrong.

Sentences like "a ~2K-parameter autoencoder" or "Params: 27M" are claims too.
They are checked when the model can be built, to the digits that they give.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="warning",
    example_bad='''\
class Net(nn.Module):
    """A classifier with ~50K parameters."""  # it has 101_770''',
    example_good='''\
class Net(nn.Module):
    """A classifier with ~102K parameters."""''',
    remedy="Correct the sentence, or make it a budget: a line `nparam: …` with the exact count.",
)
