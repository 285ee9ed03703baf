"""The check, one file a stage: `pipeline` tells the story, `requests` says what to build, `measure`
has it counted, `judgements` compares it with the budgets and makes the report, and `formula_check`
tries formulas at other sizes."""
