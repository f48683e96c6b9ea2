"""Bash commands under a policy that reads them."""

from toolwright.builtin.bash._policy import BashToolPolicy, BashVerdict

__all__ = ["BashToolPolicy", "BashVerdict"]
