"""The model's parameter count is outside its declared budget.

The model was built and counted, every distinct parameter once (tied weights
count once). The count is not within its budget. A plain integer is exact; a
number with a suffix (`86.6M`) is right to its last digit; `± 2%`, `<= 25k` and
`1M..2M` state their own bounds. The finding gives the exact difference and what
changed since the last commit (or since `--since REV`), or the largest modules
where no other state is known.
"""

EXAMPLE_BAD = '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 50_890
    """
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 128)  # 100_480
        self.out = nn.Linear(128, 10)      #   1_290'''
EXAMPLE_GOOD = '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 101_770
    """
    # … the same layers'''
REMEDY = (
    "If the change is intended, `nparam-lint update` writes the current count; if not, "
    "`nparam-lint diff HEAD` shows which module changed."
)
