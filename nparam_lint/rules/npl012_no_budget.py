"""A model has no budget.

Off by default. Select it where every model of a repository is to have a
declared count, so that none can grow unnoticed.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="warning",
    example_bad='''\
class Net(nn.Module):
    """A small classifier."""''',
    example_good='''\
class Net(nn.Module):
    """A small classifier.

    nparam: 101_770
    """''',
    remedy="`nparam-lint init` writes a budget for every model that has none.",
    enabled=False,
)
