"""Run git so that no repository and no setting makes it start a program of its own.

Hooks, helpers, editors, pagers, signatures and the monitor of files have settings of fixed names;
they are turned off in words put before the sub-command. Filters, drivers and trailers have names that
a repository chooses: a few lines of shell look for them each time git is about to run, and turn off
those that they find. `ext::` and other repositories of this machine, whose own hooks would run, are
closed by the list of protocols.
"""

from collections.abc import Sequence

from toolwright.builtin.bash._words import Word
from toolwright.builtin.bash.readers._git import git_command

__all__ = ["quiet_git"]

_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.editor": "true",
    "sequence.editor": "true",
    "core.sshCommand": "ssh",
    "core.askPass": "true",
    "core.alternateRefsCommand": "true",
    "credential.helper": "",
    "diff.autoRefreshIndex": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "dirty",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "status.submoduleSummary": "false",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "gpg.program": "true",
    "gpg.openpgp.program": "true",
    "gpg.ssh.program": "true",
    "gpg.x509.program": "true",
    "gpg.ssh.defaultKeyCommand": "true",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "push.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "uploadpack.packObjectsHook": "",
}
_ENVIRONMENT = {
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_PROXY_COMMAND": "",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_SSH_COMMAND": "ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "true",
}
_NAMED = {
    "": ("filter.*.clean", "filter.*.smudge", "filter.*.process", "remote.*.vcs"),
    "cat": ("diff.*.textconv", "tar.*.command"),
    "dirty": ("submodule.*.ignore", "submodule.*.path"),
    "false": ("filter.*.required", "merge.*.driver"),
    "true": ("diff.*.command", "gpg.*.program", "trailer.*.cmd", "trailer.*.command"),
}
"""Settings whose middle part is any name, by what they are set to instead."""

# Neither find nor xargs may see a pair of braces here: it would put a path in their place.
_CASES = " ".join(f"{'|'.join(names)}) v={value};;" for value, names in _NAMED.items())
_SCRIPT = (
    'cd -- "$1" || exit; export GIT_ALLOW_PROTOCOL="$2"; shift 2; n=0; export '
    + " ".join(f"{name}={value}" for name, value in _ENVIRONMENT.items())
    + f"; while IFS= read -r key; do case $key in {_CASES} *) continue;; esac; "
    "case $key in submodule.*.path) key=${key%path}ignore;; esac; "
    'export "GIT_CONFIG_KEY_$n=$key" "GIT_CONFIG_VALUE_$n=$v"; n=$((n + 1)); done <<.\n'
    "$(git config --name-only --get-regexp '^(diff|filter|gpg|merge|remote|submodule|tar|trailer)[.]')\n"
    '$(git config -f "$(git rev-parse --show-cdup 2>/dev/null).gitmodules" --name-only --get-regexp '
    "'^submodule[.].*[.]path$' 2>/dev/null)\n"
    ".\n"
    'export GIT_CONFIG_COUNT=$n; exec git "$@"'
)
_SHOWS_DIFFERENCES = ("diff", "log", "show", "whatchanged")


def quiet_git(words: Sequence[Word], *, reads: bool) -> tuple[Word, ...]:
    """The words to run instead of `git …`; what only `reads` fetches nothing that is missing."""
    position, directory = git_command(words)
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    flags = [word for word in words[1:position] if word.text != "-C" and word is not directory]
    sub_command, arguments = words[position : position + 1], words[position + 1 :]
    shows = sub_command and sub_command[0].text in _SHOWS_DIFFERENCES
    return (
        *_literals(["/bin/sh", "-c", _SCRIPT, "git"]),
        _place(directory),
        *_literals(["none" if reads else "http:https:ssh", "--no-pager", *settings]),
        *flags,
        *sub_command,
        *_literals(["--no-ext-diff", "--no-textconv"] if shows else []),
        *arguments,
    )


def _place(directory: Word | None) -> Word:
    if directory is None or directory.text is None:
        return directory or Word.literal(".")
    return Word.literal(directory.text if directory.text.startswith("/") else f"./{directory.text}")


def _literals(texts: Sequence[str]) -> list[Word]:
    return [Word.literal(text) for text in texts]
