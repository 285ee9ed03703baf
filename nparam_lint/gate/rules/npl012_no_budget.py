"""A model has no budget.

Off by default. Select it if every model of a repository should have a declared
count, so that none can grow unnoticed.
"""

SEVERITY = "warning"
ENABLED = False
EXAMPLE_BAD = '''\
class Net(nn.Module):
    """A small classifier."""'''
EXAMPLE_GOOD = '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 101_770
    """'''
REMEDY = "`nparam-lint init` writes a budget for every model that has none."
