"""A budget's selector matches no module of the model.

`nparam[encoder]` holds for the submodule `encoder`, `nparam[blocks.*]` for each
module that the pattern matches. Nothing matches, because a module was renamed
or the selector is mistyped, so the budget would check nothing.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="error",
    example_bad="nparam[transformer.layers.*]: 7_087_872  # they are called transformer.h",
    example_good="nparam[transformer.h.*]: 7_087_872",
    remedy="`nparam-lint show TARGET` lists the module paths.",
)
