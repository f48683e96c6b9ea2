"""The shell's own commands, shells, and programs that run the command they are given."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._builtins import (
    read_command,
    read_env,
    read_printf,
    read_setsid,
    read_shell,
    read_test,
)

__all__ = ["PROGRAMS"]

_ABOUT = "--help, --version"

PROGRAMS = [
    *program(
        ". alias bg bind builtin caller compgen complete compopt coproc declare disown enable eval "
        "export fc fg getopts hash history let local logout mapfile popd pushd read readarray readonly "
        "return shift shopt source suspend trap typeset unalias unset",
        base="shell",
    ),
    *program("bash sh dash", "-ceuxn, --norc, --noprofile", config="-l", base="script", command=0,
             reader=read_shell),
    *program("cd", "-LPe@", arguments=1),
    *program("command", "-pvV", command=0, reader=read_command),
    *program("env", "-i --ignore-environment, -0 --null, -u --unset=, -C --chdir=, -v --debug, "
             f"--list-signal-handling, {_ABOUT}", executes="-S --split-string=", command=0, reader=read_env),
    *program("exec", "-cl", config="-a=", command=0),
    *program("exit times dirs", arguments=1),
    *program("ionice", "-c --class=, -n --classdata=, -t --ignore, -h --help, -V --version", command=0),
    *program("jobs", "-lnprs", executes="-x"),
    *program("kill", "-s=, -n=, -l, -L, -ABCDEFGHIJKMNOPQRSTUVWXYZ", base="write",
             numbers=True),
    *program("nice", f"-n --adjustment=, {_ABOUT}", command=0, numbers=True),
    *program("nohup", _ABOUT, command=0),
    *program("printf", raw=True, reader=read_printf),
    *program("set", "-eux, -o=pipefail|errexit|nounset|xtrace", arguments=0, glues=False),
    *program("setsid", "-c --ctty, -f --fork, -w --wait, -h --help, -V --version", command=0,
             reader=read_setsid),
    *program("stdbuf", f"-i --input=, -o --output=, -e --error=, {_ABOUT}", command=0),
    *program("sudo", "-nHk, -u --user=, -g --group=", base="write", command=0, reader=read_env),
    *program("taskset", "-c --cpu-list", command=1),
    *program("test [", raw=True, reader=read_test),
    *program("time", "-p", command=0),
    *program("timeout", "--preserve-status, --foreground, -k --kill-after=, -s --signal=, -v --verbose, "
             f"{_ABOUT}", command=1),
    *program("type", "-afpPt"),
    *program("ulimit", "-aSH", arguments=0),
    *program("umask", "-Sp", base="write"),
    *program("wait", "-fn", config="-p="),
]  # fmt: skip
