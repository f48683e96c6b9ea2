"""The commands as the parser knows them; each loads its own file when it is used."""

from importlib.metadata import version

from toolwright.cli._table import ABOUT, COMMANDS, GROUPS

try:
    from cyclopts import App, CycloptsError, CycloptsPanel
except ImportError as error:
    raise ImportError("The command line needs an extra: pip install 'toolwright[cli]'") from error

__all__ = ["make_app"]

_UNIT = "toolwright.cli"


def make_app() -> App:
    """The parser for all commands."""
    # Plain text: a renderer of Markdown takes longer to load than all the rest.
    app = App(
        name="toolwright",
        help=ABOUT,
        version=version("toolwright"),
        help_format="plaintext",
        error_formatter=_mistake,
    )
    groups = {name: App(name=name, help=text) for name, text in GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for words, (place, help_text) in COMMANDS.items():
        group, _, name = words.rpartition(" ")
        (groups[group] if group else app).command(f"{_UNIT}.{place}", name=name, help=help_text)
    app.register_install_completion_command()
    return app


def _mistake(error: CycloptsError) -> object:
    """What is wrong with the words, which may be the names of any files."""
    from toolwright.messages import visible  # noqa: PLC0415 - slow to load, and seldom needed

    return CycloptsPanel(visible(str(error)))
