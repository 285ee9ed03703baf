"""The model has lazy parameters, whose shapes are not known until it has run.

`nn.LazyLinear` and similar modules take their input size from the first batch.
Until then their parameters have no shape, and the model has no count. The same
holds where `forward` fills an attribute that is None, missing or an empty
container, and where Lightning's `setup` makes layers. (`configure_model` is
called as Lightning's trainer would.)
"""

EXAMPLE_BAD = "self.fc = nn.LazyLinear(10)"
EXAMPLE_GOOD = "self.fc = nn.Linear(128, 10)"
REMEDY = "Give the input size to the layer, or declare an input for the model."
