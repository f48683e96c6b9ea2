"""The guided tour: `python -m examples.tour` serves a workshop agent and prints one address."""
