"""The model's parameter count is outside its declared budget.

The model was built and counted, every distinct parameter once (tied weights
count once). The count is not what its budget allows. A plain integer is exact;
a number with a suffix (`86.6M`) is right to the digit written; `± 2%`, `<= 25k`
and `1M..2M` say their own bounds. The finding gives the exact difference and
the modules that are the heaviest.
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
    "If the change is meant, `nparam-lint update` writes today's count; if not, "
    "`nparam-lint diff HEAD` shows which module changed."
)
