"""Read a file of variables, as `envFile` in an `mcp.json` names one."""

import re
from pathlib import Path

from toolwright._mcp_file import read_small_file
from toolwright.errors import UsageError

__all__ = ["read_env_file"]

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")
_QUOTED = re.compile(r"(['\"])(.*)\1\s*(?:#.*)?")


def read_env_file(path: Path, where: str) -> dict[str, str]:
    """The variables of a file with `NAME=value` lines; empty lines and `#` comments are left out."""
    try:
        lines = read_small_file(path).splitlines()
    except OSError as error:
        told = f"{where} has an envFile that cannot be read: {str(path)!r}: {error.strerror}."
        raise UsageError(told) from error
    except ValueError as error:
        told = f"{where} has an envFile that cannot be read: {str(path)!r} is not UTF-8."
        raise UsageError(told) from error
    found: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            # The line itself may hold a secret.
            raise UsageError(f"{where}: line {number} of {str(path)!r} is not NAME=value.")
        found[match[1]] = _value(match[2])
    return found


def _value(text: str) -> str:
    if quoted := _QUOTED.fullmatch(text):
        value = quoted[2]
        return value.replace("\\n", "\n") if quoted[1] == '"' else value
    return re.sub(r"(?<!\s)\s+#.*", "", text)
