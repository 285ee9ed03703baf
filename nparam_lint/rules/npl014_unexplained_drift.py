"""A count changed since the base revision, and no budget says so.

Reported by `nparam-lint diff REV --tolerance …` alone. The model has another
count than at the base revision, by more than the tolerance, and none of its
budgets was changed on the way: nobody said that the change is meant. A budget
that was changed and that holds explains the drift.
"""

EXAMPLE_BAD = '''\
class Net(nn.Module):
    """A small classifier."""  # no budget, and one layer more than at main'''
EXAMPLE_GOOD = '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 118_282
    """'''
REMEDY = (
    "If the change is meant, declare it: `nparam-lint init` or `nparam-lint update` "
    "writes today's count."
)
