"""The model keeps parameters where PyTorch does not see them.

Modules and parameters in a plain list, tuple or dict are not registered:
`parameters()` leaves them out, so that no optimiser trains them, `.to()` does
not move them, `state_dict()` does not save them, and no count includes them.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="warning",
    example_bad="self.blocks = [nn.Linear(64, 64) for _ in range(4)]  # 16_640, unseen",
    example_good="self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))",
    remedy="Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`.",
)
