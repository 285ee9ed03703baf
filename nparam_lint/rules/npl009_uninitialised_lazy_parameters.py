"""The model has lazy parameters, whose shapes are not known until it has run.

`nn.LazyLinear` and its like take their input size from the first batch. Until
then the model has no parameter count, and PyTorch reports none for them.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="error",
    example_bad="self.fc = nn.LazyLinear(10)",
    example_good="self.fc = nn.Linear(128, 10)",
    remedy="Give the input size to the layer, or declare an input for the model.",
)
