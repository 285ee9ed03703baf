"""`python -m nparam_lint`."""

from nparam_lint.cli import main

raise SystemExit(main())
