"""`python -m nparam_lint`."""

from nparam_lint.cli.start import main

raise SystemExit(main())
