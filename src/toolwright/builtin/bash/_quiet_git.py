"""Run git so that no repository and no setting makes it start a program of its own.

Hooks, helpers, editors, pagers, signatures and the monitor of files have settings of fixed names;
they are turned off in words put before the sub-command. Filters, drivers and trailers have names that
a repository chooses: lines of shell look for them each time git is about to run, and turn off those
that they find. So they do with aliases: for an address `x::y` git runs `git remote-x`, which may be one.
`ext::` and other repositories of this machine, whose own hooks would run, are closed by
the list of protocols.

A repository inside this one has settings of its own, which git obeys when it looks for changes there.
What only reads is told not to look. For all else the names are collected from every repository and
every linked work tree that git could enter, as well as what an interrupted rebase would go on with.
"""

import shlex
from collections.abc import Sequence

from toolwright.builtin.bash._words import Word
from toolwright.builtin.bash.readers._git import STRATEGIES, git_command

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
    "diff.submodule": "short",
    "help.autoCorrect": "0",
    "init.templateDir": "",
    "log.diffMerges": "separate",
    "rebase.instructionFormat": "%s",
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
    "": ("alias.*", "credential.*.helper", "filter.*.clean", "filter.*.smudge", "filter.*.process",
         "remote.*.vcs"),
    "cat": ("diff.*.textconv", "tar.*.command"),
    "false": ("diff.*.cachetextconv", "filter.*.required", "hook.*.enabled", "merge.*.driver"),
    "true": ("diff.*.command", "gpg.*.program", "hook.*.command", "trailer.*.cmd", "trailer.*.command"),
}  # fmt: skip
"""Settings whose middle part is any name, by what they are set to instead."""

# A setting of our own, found again among the names, shows that git takes settings from its environment.
_MARK = "diff.toolwright.binary"
_SECTIONS = "^(alias|credential|diff|filter|gpg|hook|includeif|merge|remote|tar|trailer)[.]"
_CASES = " ".join(f"{'|'.join(names)}) v={value};;" for value, names in _NAMED.items())

# Neither find nor xargs may see a pair of braces in these lines: it would put a path in its place.
_START = f"""cd -- "$1" || exit
export GIT_ALLOW_PROTOCOL="$2" {" ".join(f"{name}={value}" for name, value in _ENVIRONMENT.items())}
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0={_MARK} GIT_CONFIG_VALUE_0=false
shift 2
stop() {{ echo "toolwright: git is not run: $1" >&2; exit 128; }}
list() {{ git config "$@" --show-scope --name-only --get-regexp '{_SECTIONS}'; }}
names=$(list)
case $names in *{_MARK}*) ;; *) stop 'it does not list its settings, or is older than version 2.31';; esac
"""
_INSIDE = f"""for p; do (
  cd -- "${{p%/.git}}" && export GIT_DIR=.git || exit
  top=$(git rev-parse --show-toplevel 2>/dev/null) || exit
  [ "$top" = "$(pwd -P)" ] || echo elsewhere
  git config --show-scope --name-only --get-regexp '{_SECTIONS}'
); done"""
"""Names in repositories, whose `.git` it is given. One whose work tree is elsewhere is not followed there."""
_ALL = f"""command -v find >/dev/null || stop 'find is missing, which looks for repositories inside this one'
more() {{
  top=$(git rev-parse --show-toplevel 2>/dev/null) && (
    cd -- "$top" && find . -path ./.git -prune -o -name .git -prune -exec /bin/sh -c "$1" git '{{''}}' +
  )
  common=$(git rev-parse --git-common-dir 2>/dev/null) || return
  for f in "$common"/config.worktree "$common"/worktrees/*/config.worktree; do
    [ ! -e "$f" ] || list -f "$f" --includes
  done
}}
names="$names
$(more {shlex.quote(_INSIDE)})"
while IFS= read -r key; do case $key in
  elsewhere) stop 'a repository inside this one has its work tree elsewhere';;
  system*|global*) ;;
  *includeif.*) stop 'the settings of a repository here include others on a condition';;
esac; done <<.
$names
.
state=$(git rev-parse --git-dir 2>/dev/null)
for s in $(git config -f "$state/sequencer/opts" --get-all options.strategy 2>/dev/null
           cat "$state/rebase-merge/strategy" 2>/dev/null); do
  case $s in {STRATEGIES}) ;; *) stop "an interrupted command would go on with the strategy $s";; esac
done
while read -r s rest; do
  case $s in x*|ex*) stop "an interrupted rebase would go on with: $s $rest";; esac
done <<.
$(cat "$state/rebase-merge/git-rebase-todo" 2>/dev/null)
.
"""
_END = f"""n=1
while IFS= read -r key; do
  key=${{key#*\t}}
  case $key in {_CASES} *) continue;; esac
  export "GIT_CONFIG_KEY_$n=$key" "GIT_CONFIG_VALUE_$n=$v"
  n=$((n + 1))
done <<.
$names
.
export GIT_CONFIG_COUNT=$n
exec git "$@"
"""
_READS, _WRITES = _START + _END, _START + _ALL + _END
_SHOWS_DIFFERENCES = ("diff", "diff-files", "diff-index", "diff-tree", "log", "show", "whatchanged")
_LOOKS_INSIDE = ("diff", "diff-files", "diff-index", "status")
_NO_PROTOCOL = "/"
"""No address has it: an empty list would allow `::x`, and a word `word::x`."""


def quiet_git(words: Sequence[Word], *, reads: bool) -> tuple[Word, ...]:
    """The words to run instead of `git …`; what only `reads` fetches nothing that is missing."""
    position, directory = git_command(words)
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    flags = [word for word in words[1:position] if word.text != "-C" and word is not directory]
    sub_command, arguments = words[position : position + 1], words[position + 1 :]
    return (
        *_literals(["/bin/sh", "-c", _READS if reads else _WRITES, "git"]),
        _place(directory),
        *_literals([_NO_PROTOCOL if reads else "https:ssh", "--no-pager", *settings]),
        *flags,
        *sub_command,
        *_literals([flag for word in sub_command for flag in _closing(word.text or "")]),
        *arguments,
    )


def _closing(sub_command: str) -> list[str]:
    """Options of the sub-command that keep it from helpers, and from repositories inside this one."""
    drivers = ["--no-ext-diff", "--no-textconv"] if sub_command in _SHOWS_DIFFERENCES else []
    return [*drivers, *(["--ignore-submodules=dirty"] if sub_command in _LOOKS_INSIDE else [])]


def _place(directory: Word | None) -> Word:
    if directory is None or directory.text is None:
        return directory or Word.literal(".")
    return Word.literal(directory.text if directory.text.startswith("/") else f"./{directory.text}")


def _literals(texts: Sequence[str]) -> list[Word]:
    return [Word.literal(text) for text in texts]
