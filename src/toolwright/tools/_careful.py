"""Rules for agents that read what anybody may have written, to begin with and to live with."""

from collections.abc import Sequence

from toolwright.tools._policy import Rule, Rules, rules

__all__ = ["careful"]

_STAYS_HERE = ("write_todos", "read_todos", "write", "edit", "write_file", "edit_file")


def careful(*before: Rule, stays_here: Sequence[str] = _STAYS_HERE) -> Rules:
    """A policy that asks where somebody else may have had a say, and about what destroys.

    It asks about calls with effects whose values come from untrusted results (mails, pages, MCP
    servers) and neither from the person nor from trusted results, and about destructive calls. The
    rest runs.

    Args:
        before: Rules of your own that come first, such as `Rule.deny("wipe")`.
        stays_here: Tools of the program's own whose calls leave nothing but notes and files in the work
            directory; what these are given is not looked at.
    """
    notes = [Rule.allow(*stays_here, source="", optional=True)] if stays_here else []
    return rules(
        *before,
        *notes,
        Rule.ask(from_untrusted=True),
        Rule.ask(effects="destructive"),
        otherwise="allow",
    )
