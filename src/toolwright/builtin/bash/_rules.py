"""What is known about programs: which run code, which flags execute, which only read."""

import re
from collections.abc import Sequence

__all__ = [
    "EVALUATES",
    "GIT_DIFFS",
    "GIT_QUIET",
    "SHELLS",
    "executing_flag",
    "only_reads",
    "runs_code",
]

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})

EVALUATES = frozenset({
    ".", "alias", "bind", "builtin", "caller", "compgen", "complete", "compopt", "coproc",
    "declare", "disown", "enable", "export", "fc", "fg", "bg", "getopts", "hash", "history", "let",
    "local", "logout", "mapfile", "read", "readarray", "readonly", "set", "shopt", "source",
    "suspend", "trap", "typeset", "unalias", "unset",
})  # fmt: skip
"""Builtins that evaluate their arguments, read code, or change what later commands mean."""

_CODE = frozenset({
    # interpreters
    "python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "irb", "php", "lua", "luajit",
    "tclsh", "wish", "expect", "Rscript", "R", "julia", "ghc", "runghc", "ocaml", "erl", "elixir",
    "iex", "scala", "groovy", "java", "jshell", "kotlin", "swift", "osascript", "pwsh", "powershell",
    "fish", "csh", "tcsh", "nu", "xonsh", "guile", "sbcl", "emacs", "emacsclient", "gdb", "lldb",
    "sqlite3", "psql", "mysql", "mongosh", "redis-cli", "bc", "dc", "m4", "gnuplot", "octave",
    # build tools and package managers
    "make", "gmake", "cmake", "ninja", "meson", "bazel", "cargo", "rustc", "go", "gcc", "g++", "cc",
    "c++", "clang", "clang++", "ld", "tcc", "npm", "npx", "yarn", "pnpm", "pip", "pip3", "pipx",
    "uv", "uvx", "poetry", "pdm", "hatch", "tox", "nox", "pytest", "mvn", "gradle", "ant", "rake",
    "bundle", "gem", "composer", "just", "task", "conda", "mamba", "brew", "apt", "apt-get", "dpkg",
    "yum", "dnf", "rpm", "apk", "pacman", "snap", "flatpak", "nix", "nix-shell", "guix", "tsx",
    "ts-node", "jest", "vitest", "pre-commit", "ansible", "terraform", "helm", "vagrant",
    # programs that start others
    "at", "batch", "crontab", "chroot", "cpulimit", "doas", "docker", "entr", "fakeroot", "firejail",
    "flock", "gosu", "kubectl", "ltrace", "machinectl", "nerdctl", "nsenter", "parallel", "perf",
    "pkexec", "podman", "proot", "rlwrap", "run-parts", "runuser", "screen", "script", "setarch",
    "setpriv", "ssh", "sshpass", "start-stop-daemon", "strace", "su", "sudo", "systemctl",
    "systemd-run", "taskset", "tmux", "torsocks", "unshare", "unbuffer", "valgrind", "watch",
    "wine", "xvfb-run", "ld.so", "ld-linux-x86-64.so.2", "numactl", "chrt", "prlimit", "proxychains",
    # editors, pagers and others with an escape to the shell
    "ed", "ex", "vi", "vim", "nvim", "view", "vimdiff", "rvim", "nano", "pico", "less", "more",
    "most", "man", "info", "ftp", "sftp", "telnet", "mail", "mutt", "tig", "lynx", "w3m", "scp",
    "nc", "ncat", "netcat", "socat", "openssl", "gpg", "dmesg", "logrotate", "mount", "umount",
    "insmod", "modprobe", "ip", "nmap", "tcpdump", "busctl", "gcore", "rlogin", "ctags", "jrunscript",
    "check_by_ssh", "capsh", "pidstat", "zip", "cpio", "rpmbuild", "cscope", "fzf", "byebug",
})  # fmt: skip
"""Programs that can be told to run anything: allowed only where anything may run."""

_EXECUTING: dict[str, tuple[str, tuple[str, ...]]] = {
    # program: short flags, long flags
    "ag": ("", ("--pager",)),
    "bat": ("", ("--pager", "--paging")),
    "curl": ("K", ("--config",)),
    "diff": ("l", ("--paginate",)),
    "fd": ("xX", ("--exec", "--exec-batch")),
    "git": ("O", ("--config-env", "--exec-path", "--paginate", "--upload-pack", "--receive-pack",
                   "--exec", "--open-files-in-pager", "--ext-diff", "--textconv", "--template",
                   "--editor", "--gpg-sign", "--show-signature", "--output", "--work-tree",
                   "--git-dir", "--namespace", "--super-prefix", "--smtp-server")),
    "file": ("zZ", ("--uncompress", "--uncompress-noreport")),
    "install": ("s", ("--strip", "--strip-program")),
    "ar": ("", ("--plugin",)),
    "nm": ("", ("--plugin",)),
    "objdump": ("", ("--plugin",)),
    "strip": ("", ("--plugin",)),
    "rg": ("z", ("--pre", "--hostname-bin", "--search-zip")),
    "rsync": ("e", ("--rsh", "--rsync-path", "--config", "--files-from")),
    "sort": ("", ("--compress-program",)),
    "split": ("", ("--filter",)),
    "tar": ("IF", ("--to-command", "--use-compress-program", "--checkpoint-action", "--info-script",
                   "--new-volume-script", "--rsh-command", "--rmt-command")),
    "wget": ("e", ("--execute", "--use-askpass", "--config")),
    "yq": ("", ("--from-file",)),
    "printf": ("v", ()),
    "test": ("vR", ()),
    "[": ("vR", ()),
    "wait": ("p", ()),
}  # fmt: skip
"""Flags that make a program run another one, or change its settings so that it does."""

_REMOTE = ("rsync", "tar")
"""Programs that start a remote shell for arguments like `host:path`."""

_GIT_READS = frozenset({
    "blame", "cat-file", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "merge-base",
    "name-rev", "rev-list", "rev-parse", "shortlog", "show", "show-ref", "status", "version",
    "whatchanged",
})  # fmt: skip
_GIT_CODE = frozenset({
    "bisect", "daemon", "difftool", "fast-import", "filter-branch", "gui", "gitk", "hook", "instaweb",
    "maintenance", "mergetool", "rebase", "send-email", "submodule", "config", "remote-ext", "var",
    "web--browse", "help", "p4", "svn", "cvsserver", "alias", "for-each-repo", "credential",
})  # fmt: skip
_GIT_KNOWN = _GIT_READS | {
    "add", "am", "apply", "archive", "branch", "checkout", "cherry", "cherry-pick", "clean", "clone",
    "commit", "count-objects", "fetch", "for-each-ref", "format-patch", "fsck", "gc", "init",
    "ls-remote", "merge", "mv", "notes", "prune", "pull", "push", "range-diff", "reflog", "remote",
    "repack", "reset", "restore", "revert", "rm", "show-branch", "sparse-checkout", "stash",
    "switch", "symbolic-ref", "tag", "update-index", "update-ref", "verify-commit", "worktree",
    "write-tree", "hash-object", "check-ignore", "check-attr", "bundle",
}  # fmt: skip

GIT_QUIET = (
    "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.editor=true", "-c", "sequence.editor=true", "-c", "core.sshCommand=ssh",
    "-c", "core.askPass=true", "-c", "credential.helper=", "-c", "diff.external=",
    "-c", "protocol.ext.allow=never", "-c", "gpg.program=true",
    "-c", "gpg.ssh.program=true", "-c", "gpg.x509.program=true", "-c", "commit.gpgSign=false",
    "-c", "core.alternateRefsCommand=true", "-c", "uploadpack.packObjectsHook=",
)  # fmt: skip
"""Settings that a repository could use to run its own programs, turned off."""

GIT_DIFFS = ("diff", "log", "show")
"""Subcommands that would run a repository's own programs to show a difference."""

_READERS = frozenset({
    "[", "basename", "cat", "cksum", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname",
    "du", "echo", "expr", "false", "file", "fold", "free", "grep", "egrep", "fgrep", "groups",
    "head", "hostname", "id", "join", "jq", "ls", "md5sum", "nl", "nproc", "od", "paste", "printenv",
    "printf", "pwd", "readlink", "realpath", "rev", "rg", "seq", "sha1sum", "sha256sum", "sleep",
    "sort", "stat", "tac", "tail", "test", "tr", "tree", "true", "tty", "type", "uname", "uniq",
    "uptime", "wc", "which", "who", "whoami", "cd", ":", "strings", "xxd", "hexdump", "base64",
})  # fmt: skip
_WRITING_FLAGS = {
    "sort": ("-o", "--output"), "tree": ("-o",), "date": ("-s", "--set"), "uniq": (), "xxd": ("-r",),
    "file": ("-C", "--compile"), "hostname": ("-F", "--file", "-b"),
}  # fmt: skip
_FIND_WRITES = ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-exec", "-execdir", "-ok",
                "-okdir")  # fmt: skip

_SED_SAFE = re.compile(
    r"""(\d+|\$|/[^/\n;{}]*/)?(,(\d+|\$|/[^/\n;{}]*/))?\s*      # an address
        (p|d|q|=|n|s(?P<d>[/|,#])((?!(?P=d))[^\\\n]|\\.)*(?P=d)((?!(?P=d))[^\\\n]|\\.)*(?P=d)[gip0-9]*)?""",
    re.X,
)
_AWK_UNSAFE = re.compile(r"system|getline|[|>@]|ENVIRON|close|load")
_VERSIONED = re.compile(r"[-.]?\d+(\.\d+)*$")


def runs_code(argv: Sequence[str]) -> str | None:
    """Why this command could run anything at all, or None."""
    name = _plain(argv[0])
    if name in _CODE or _VERSIONED.sub("", name) in _CODE:
        return f"{name!r} can run any code"
    if name in SHELLS:
        return f"{name!r} runs a script that cannot be seen here"
    if name == "git":
        return _git_runs_code(argv)
    if name in ("awk", "gawk", "mawk", "nawk"):
        return _awk_runs_code(argv)
    if name in ("sed", "gsed"):
        return _sed_runs_code(argv)
    return None


def executing_flag(argv: Sequence[str]) -> str | None:
    """The argument that makes this program run another one, abbreviated or bundled, or None."""
    name = _plain(argv[0])
    short, long = _EXECUTING.get(name, ("", ()))
    if name == "tar" and len(argv) > 1 and not argv[1].startswith("-"):
        argv = [argv[0], f"-{argv[1]}", *argv[2:]]
    for argument in argv[1:]:
        if argument == "--":
            break
        option = argument.partition("=")[0]
        if argument.startswith("--"):
            hit = len(option) > 2 and any(flag.startswith(option) for flag in long)
        elif argument.startswith("-"):
            hit = any(flag in argument[1:] for flag in short)
        else:
            hit = name in _REMOTE and re.match(r"[^/]*:", argument) is not None
        if hit:
            return argument
    return None


def can_be_told_to_execute(program: str) -> bool:
    """Whether some argument could make this program run another one."""
    name = _plain(program)
    return name in _EXECUTING or name in ("sed", "gsed", "awk", "gawk", "mawk", "nawk", "find")


def only_reads(argv: Sequence[str]) -> bool:
    """Whether this command changes nothing, whatever its arguments mean."""
    name = argv[0]
    if name == "git":
        return len(argv) > 1 and argv[1] in _GIT_READS and not executing_flag(argv)
    if name == "find":
        return not any(argument in _FIND_WRITES for argument in argv)
    if name not in _READERS or executing_flag(argv):
        return False
    if name == "uniq":
        return len([a for a in argv[1:] if not a.startswith("-")]) < 2
    flags = _WRITING_FLAGS.get(name, ())
    return not any(argument.startswith(flag) for argument in argv[1:] for flag in flags)


def _plain(program: str) -> str:
    return program.rsplit("/", 1)[-1]


def _git_runs_code(argv: Sequence[str]) -> str | None:
    rest = list(argv[1:])
    while rest and rest[0].startswith("-"):
        takes_value = rest[0] == "-C"
        if rest[0] not in ("-C", "--no-pager", "--version", "--help", "--no-optional-locks", "-P",
                           "--bare", "--literal-pathspecs"):  # fmt: skip
            return f"git {rest[0]!r} changes how git works"
        rest = rest[2:] if takes_value else rest[1:]
    if not rest:
        return None
    if rest[0] in _GIT_CODE:
        return f"'git {rest[0]}' can run any program"
    if rest[0] not in _GIT_KNOWN:
        return f"'git {rest[0]}' is unknown; it may be an alias for any program"
    if rest[0] == "clone" and any(argument.startswith(("-c", "-u")) for argument in rest[1:]):
        return "'git clone' with settings of its own can run any program"
    return None


def _awk_runs_code(argv: Sequence[str]) -> str | None:
    takes_value = False
    for argument in argv[1:]:
        if takes_value:
            takes_value = False
        elif argument in ("-F", "-v"):
            takes_value = True
        elif re.fullmatch(r"-F.+|-v\w+=.*", argument):
            continue
        elif argument.startswith("-"):
            return f"awk {argument!r} may load a program"
        else:
            return "this awk program may run commands or write files" if (
                _AWK_UNSAFE.search(argument)) else None  # fmt: skip
    return "awk has no program here"


def _sed_runs_code(argv: Sequence[str]) -> str | None:
    scripts, rest, expects = [], [], False
    for argument in argv[1:]:
        if expects:
            scripts.append(argument)
            expects = False
        elif argument in ("-e", "--expression"):
            expects = True
        elif argument in ("-n", "-E", "-r", "-z", "-s", "-u", "--quiet", "--silent"):
            continue
        elif argument.startswith("-") and argument != "-":
            return f"sed {argument!r} is not judged"
        else:
            rest.append(argument)
    scripts = scripts or rest[:1]
    lines = [line.strip() for script in scripts for line in re.split(r"[;\n]", script)]
    if all(_SED_SAFE.fullmatch(line) for line in lines):
        return None
    return "this sed script may run commands or write files"
