"""Python packages for a sandbox: from wheels only, into a directory of their own."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from toolwright._temporary import guest_places
from toolwright.backends.sandboxes._walls import way_through
from toolwright.errors import ToolError

__all__ = [
    "check_pip_settings",
    "checked_packages",
    "pip_command",
    "pip_environment",
    "pip_readable",
]

_REQUIREMENT = re.compile(
    r"""[A-Za-z0-9][A-Za-z0-9._-]*            # a name, so neither an option nor a path
        (\[[A-Za-z0-9._,\ -]*\])?             # extras
        (\s*(===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?)*""",
    re.X,
)


def checked_packages(packages: Sequence[str]) -> list[str]:
    """The requirements as given; `ToolError` for anything but names, extras and versions."""
    if not packages:
        raise ToolError("No packages were named; give at least one, like ['numpy'].")
    for package in packages:
        if not _REQUIREMENT.fullmatch(package.strip()):
            raise ToolError(
                f"{package!r} is not a package name with an optional version, like 'numpy>=2'; "
                "addresses, paths and options are not accepted."
            )
    return [package.strip() for package in packages]


def pip_command(packages: Sequence[str], target: str) -> list[str]:
    """Install into `target`; only wheels, because building from source runs its author's code.

    Isolated, so that pip and all it imports are this program's own, whatever is in `target`.
    """
    return [
        sys.executable, "-I", "-m", "pip", "install", "--only-binary=:all:", "--no-input", "--upgrade",
        "--disable-pip-version-check", "--quiet", "--no-cache-dir", "--no-warn-conflicts",
        "--target", target,
        "--", *packages,
    ]  # fmt: skip


def pip_environment() -> dict[str, str]:
    """Where this program would install from: the same index, certificates and proxy."""
    wanted = ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "requests_ca_bundle")
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith("PIP_") or name.lower() in wanted
    }


def check_pip_settings() -> None:
    """Raise `ToolError` where pip would read settings that commands in a sandbox can write.

    Of any sandbox of this program, and by links, too: pip has the network and starts what they name.
    """
    named = {name: value.split() for name, value in pip_environment().items()}
    named["its settings"] = [str(path) for path in _settings() if path.exists()]
    for name, words in named.items():
        for path in (Path(word.removeprefix("file://")) for word in words):
            # As pip reads several of them, not only those that must be files.
            if path.is_absolute() and (place := way_through(path, guest_places(gone=True))):
                raise ToolError(
                    f"No packages can be installed: {name} leads to {str(path)!r}, in {str(place)!r}, where "
                    "commands can write, and pip would do what they say. Whoever runs this agent can "
                    "keep it outside of the workspace."
                )


def pip_readable() -> tuple[Path, ...]:
    """What pip must be able to read: itself, its settings, and places on disk it looks in."""
    named = [os.environ.get(name, "") for name in ("PIP_FIND_LINKS", "PIP_CONFIG_FILE", "PIP_CERT")]
    places = [Path(sys.prefix), *_settings(), *(Path(text) for text in " ".join(named).split())]
    return tuple(dict.fromkeys(path for path in places if path.is_absolute() and path.exists()))


def _settings() -> tuple[Path, ...]:
    return (Path("/etc/pip.conf"), Path.home() / ".config/pip", Path.home() / ".pip")
