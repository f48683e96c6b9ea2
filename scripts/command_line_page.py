"""Write the part of the command-line page that is made from the program's own help."""

import re
from pathlib import Path

from toolwright.cli._app import make_app

TARGET = Path(__file__).parents[1] / "docs" / "snippets" / "command-line" / "commands.md"


def commands() -> str:
    """Every command with its arguments and options, as Markdown."""
    text = make_app().generate_docs(flatten_commands=True, heading_level=3)
    # The last section is cyclopts' own and depends on how this program was started.
    text = text[text.index("**Commands**") : text.index("### toolwright --install-completion")]
    # Its links are for another generator's anchors.
    text = re.sub(r"\[(`[^`]+`)\]\(#[^)]*\)", r"\1", text)
    return text.strip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(commands())
