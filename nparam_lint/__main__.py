"""`python -m nparam_lint`."""

from nparam_lint.start import main

raise SystemExit(main())
