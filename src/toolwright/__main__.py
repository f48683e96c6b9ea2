"""`python -m toolwright` is the command line."""

import sys

from toolwright.cli import main

sys.exit(main())
