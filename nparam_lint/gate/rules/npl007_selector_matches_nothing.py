"""A budget's selector matches no module of the model.

`nparam[encoder]` applies to the submodule `encoder`, `nparam[blocks.*]` to each
module that the pattern matches. Nothing matches, because a module was renamed
or the selector is misspelt, so the budget would check nothing.
"""

EXAMPLE_BAD = "nparam[transformer.layers.*]: 7_087_872  # they are called transformer.h"
EXAMPLE_GOOD = "nparam[transformer.h.*]: 7_087_872"
REMEDY = "`nparam-lint show TARGET` lists the module paths."
