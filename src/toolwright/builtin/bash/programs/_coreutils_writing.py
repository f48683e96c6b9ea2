"""Coreutils that make, change and remove files: to list one is to allow that."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._builtins import read_dd

__all__ = ["PROGRAMS"]

_ABOUT = "--help, --version"
_BACKUP = "--backup[=], -b, -S --suffix="
_TARGET = "-t --target-directory=, -T --no-target-directory"
_OWNER = (
    "-c --changes, -f --silent --quiet, -v --verbose, --dereference, -h --no-dereference, "
    "--no-preserve-root, --preserve-root, --reference=, -R --recursive, -HLP, " + _ABOUT
)

PROGRAMS = [
    *program("chgrp", _OWNER, base="write"),
    *program("chown", f"--from=, {_OWNER}", base="write"),
    *program("chmod", "-c --changes, -f --silent --quiet, -v --verbose, --no-preserve-root, "
             f"--preserve-root, --reference=, -R --recursive, -rwxXstugoa, {_ABOUT}", base="write"),
    *program("cp", f"-a --archive, --attributes-only, {_BACKUP}, --copy-contents, -d, -f --force, "
             "-i --interactive, -H, -l --link, -L --dereference, -n --no-clobber, -P --no-dereference, "
             "-p, --preserve[=], --no-preserve=, --parents, -R -r --recursive, --reflink[=], "
             "--remove-destination, --sparse=, --strip-trailing-slashes, -s --symbolic-link, "
             f"{_TARGET}, -u --update, -v --verbose, -x --one-file-system, -Z, --context[=], {_ABOUT}",
             base="write"),
    *program("csplit", "-b --suffix-format=, -f --prefix=, -k --keep-files, --suppress-matched, "
             f"-n --digits=, -s --quiet --silent, -z --elide-empty-files, {_ABOUT}", base="write"),
    *program("dd", base="write", raw=True, reader=read_dd),
    *program("install", f"{_BACKUP}, -c, -C --compare, -d --directory, -D, -g --group=, -m --mode=, "
             f"-o --owner=, -p --preserve-timestamps, {_TARGET}, -v --verbose, --preserve-context, -Z, "
             f"--context[=], {_ABOUT}", base="write", executes="-s --strip, --strip-program="),
    *program("link unlink", _ABOUT, base="write"),
    *program("ln", f"{_BACKUP}, -d -F --directory, -f --force, -i --interactive, -L --logical, "
             f"-n --no-dereference, -P --physical, -r --relative, -s --symbolic, {_TARGET}, -v --verbose, "
             f"{_ABOUT}", base="write"),
    *program("mkdir", f"-m --mode=, -p --parents, -v --verbose, -Z, --context[=], {_ABOUT}", base="write"),
    *program("mkfifo", f"-m --mode=, -Z, --context[=], {_ABOUT}", base="write"),
    *program("mktemp", f"-d --directory, -u --dry-run, -q --quiet, --suffix=, -p=, --tmpdir[=], -t, {_ABOUT}",
             base="write"),
    *program("mv", f"{_BACKUP}, -f --force, -i --interactive, -n --no-clobber, "
             f"--strip-trailing-slashes, {_TARGET}, -u --update, -v --verbose, -Z --context, {_ABOUT}",
             base="write"),
    *program("rm", "-f --force, -i, -I, --interactive[=], --one-file-system, --no-preserve-root, "
             f"--preserve-root[=], -r -R --recursive, -d --dir, -v --verbose, {_ABOUT}", base="write"),
    *program("rmdir", f"--ignore-fail-on-non-empty, -p --parents, -v --verbose, {_ABOUT}", base="write"),
    *program("shred", "-f --force, -n --iterations=, --random-source=, -s --size=, -u, --remove[=], "
             f"-v --verbose, -x --exact, -z --zero, {_ABOUT}", base="write"),
    *program("split", "-a --suffix-length=, --additional-suffix=, -b --bytes=, -C --line-bytes=, -d, "
             "--numeric-suffixes[=], -x, --hex-suffixes[=], -e --elide-empty-files, -l --lines=, "
             f"-n --number=, -t --separator=, -u --unbuffered, --verbose, {_ABOUT}",
             base="write", executes="--filter=", numbers=True),
    *program("sync", f"-d --data, -f --file-system, {_ABOUT}", base="write"),
    *program("tee", f"-a --append, -i --ignore-interrupts, -p, --output-error[=], {_ABOUT}", base="write"),
    *program("touch", "-a, -c --no-create, -d --date=, -f, -h --no-dereference, -m, -r --reference=, "
             f"-t=, --time=, {_ABOUT}", base="write"),
    *program("truncate", f"-c --no-create, -o --io-blocks, -r --reference=, -s --size=, {_ABOUT}",
             base="write"),
]  # fmt: skip
