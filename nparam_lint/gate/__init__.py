"""The check, one file a stage: `pipeline` tells the story, `requests` says what to build, `measure`
has it counted, `judgements` compares it with the budgets, `formula_check` tries formulas at other
sizes, and `assemble` makes the report."""
