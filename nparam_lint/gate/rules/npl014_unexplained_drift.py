"""A count changed since the base revision, and no budget says so.

Reported only by `nparam-lint diff REV --tolerance …`. The count differs from
that at the base revision by more than the tolerance, and none of the model's
budgets was changed: nothing says that the change is intended. A budget that was
changed and that holds explains the drift.

Models are compared in each way in which the project builds them. Where there
are models and none was counted on both sides, that is reported too: nothing is
known of a drift.
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
    "If the change is intended, declare it: `nparam-lint init` or `nparam-lint update` "
    "writes the current count."
)
