"""`python -m toolwright.cli`."""

from toolwright.cli import main

main()
