"""Coreutils and other small programs that read and print."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._builtins import read_date, read_setting

__all__ = ["PROGRAMS"]

_ABOUT = "--help, --version"
_SUMS = (
    "-b --binary, -c --check, --tag, -t --text, -z --zero, --ignore-missing, --quiet, --status, "
    "--strict, -w --warn, " + _ABOUT
)
_LS = (
    "-a --all, -A --almost-all, --author, -b --escape, --block-size=, -B --ignore-backups, -c, -C, "
    "--color[=], -d --directory, -D --dired, -f, -F --classify[=], --file-type, --format=, "
    "--full-time, -g, --group-directories-first, -G --no-group, -h --human-readable, --si, "
    "-H --dereference-command-line, --dereference-command-line-symlink-to-dir, --hide=, "
    "--hyperlink[=], --indicator-style=, -i --inode, -I --ignore=, -k --kibibytes, -l, "
    "-L --dereference, -m, -n --numeric-uid-gid, -N --literal, -o, -p, -q --hide-control-chars, "
    "--show-control-chars, -Q --quote-name, --quoting-style=, -r --reverse, -R --recursive, "
    "-s --size, -S, --sort=, --time=, --time-style=, -t, -T --tabsize=, -u, -U, -v, -w --width=, -x, "
    "-X, -Z --context, --zero, -1, " + _ABOUT
)

PROGRAMS = [
    *program("arch logname users whoami", _ABOUT),
    *program("b2sum", f"-l --length=, {_SUMS}"),
    *program("cksum", "-a --algorithm=, -c --check, -l --length=, --tag, --untagged, -z --zero, "
             f"--ignore-missing, --quiet, --status, --strict, -w --warn, --debug, {_ABOUT}"),
    *program("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum", _SUMS),
    *program("base32 base64", f"-d --decode, -i --ignore-garbage, -w --wrap=, {_ABOUT}"),
    *program("basename", f"-a --multiple, -s --suffix=, -z --zero, {_ABOUT}"),
    *program("cat", "-A --show-all, -b --number-nonblank, -e, -E --show-ends, -n --number, "
             f"-s --squeeze-blank, -t, -T --show-tabs, -u, -v --show-nonprinting, {_ABOUT}"),
    *program("cmp", "-b --print-bytes, -i --ignore-initial=, -l --verbose, -n --bytes=, "
             "-s --quiet --silent, --help, -v --version"),
    *program("comm", "-123, --check-order, --nocheck-order, --output-delimiter=, --total, "
             f"-z --zero-terminated, {_ABOUT}"),
    *program("cut", "-b --bytes=, -c --characters=, -d --delimiter=, -f --fields=, -n, --complement, "
             f"-s --only-delimited, --output-delimiter=, -z --zero-terminated, {_ABOUT}"),
    *program("date", "-d --date=, --debug, -f --file=, -I --iso-8601[=], -R --rfc-email, --rfc-3339=, "
             f"-r --reference=, -u --utc --universal, {_ABOUT}", writes="-s --set=", reader=read_date),
    *program("df", "-a --all, -B --block-size=, -h --human-readable, -H --si, -i --inodes, -k, "
             "-l --local, --no-sync, --output[=], -P --portability, --sync, --total, -t --type=, "
             f"-T --print-type, -x --exclude-type=, -v, {_ABOUT}"),
    *program("dirname", f"-z --zero, {_ABOUT}"),
    *program("du", "-0 --null, -a --all, --apparent-size, -B --block-size=, -b --bytes, -c --total, "
             "-D --dereference-args, -d --max-depth=, --files0-from=, -H, -h --human-readable, "
             "--inodes, -k, -L --dereference, -l --count-links, -m, -P --no-dereference, "
             "-S --separate-dirs, --si, -s --summarize, -t --threshold=, --time[=], --time-style=, "
             f"-X --exclude-from=, --exclude=, -x --one-file-system, {_ABOUT}"),
    *program("echo expr factor false true yes :", anything=True),
    *program("expand", f"-i --initial, -t --tabs=, {_ABOUT}"),
    *program("unexpand", f"-a --all, --first-only, -t --tabs=, {_ABOUT}"),
    *program("fmt", "-c --crown-margin, -p --prefix=, -s --split-only, -t --tagged-paragraph, "
             f"-u --uniform-spacing, -w --width=, -g --goal=, {_ABOUT}", numbers=True),
    *program("fold", f"-b --bytes, -s --spaces, -w --width=, {_ABOUT}", numbers=True),
    *program("getconf", "-a", partial=True),
    *program("groups", _ABOUT),
    *program("head", "-c --bytes=, -n --lines=, -q --quiet --silent, -v --verbose, "
             f"-z --zero-terminated, {_ABOUT}", numbers=True),
    *program("hostid", _ABOUT, base="network"),
    *program("hostname", "-I --all-ip-addresses, -s --short", writes="-b --boot, -F --file=",
             network="-a --alias, -A --all-fqdns, -d --domain, -f --fqdn --long, -i --ip-address",
             reader=read_setting),
    *program("id", "-a, -Z --context, -g --group, -G --groups, -n --name, -r --real, -u --user, "
             f"-z --zero, {_ABOUT}"),
    *program("join", "-a=, -e=, -i --ignore-case, -j=, -o=, -t=, -v=, -1=, -2=, --check-order, "
             f"--nocheck-order, --header, -z --zero-terminated, {_ABOUT}"),
    *program("ls dir vdir", _LS),
    *program("nl", "-b --body-numbering=, -d --section-delimiter=, -f --footer-numbering=, "
             "-h --header-numbering=, -i --line-increment=, -l --join-blank-lines=, "
             "-n --number-format=, -p --no-renumber, -s --number-separator=, "
             f"-v --starting-line-number=, -w --number-width=, {_ABOUT}"),
    *program("nproc", f"--all, --ignore=, {_ABOUT}"),
    *program("numfmt", "--debug, -d --delimiter=, --field=, --format=, --from=, --from-unit=, "
             "--grouping, --header[=], --invalid=, --padding=, --round=, --suffix=, --to=, --to-unit=, "
             f"-z --zero-terminated, {_ABOUT}"),
    *program("od", "-A --address-radix=, --endian=, -j --skip-bytes=, -N --read-bytes=, "
             "-S=, --strings[=], -t --format=, -v --output-duplicates, -w --width[=], --traditional, "
             f"-abcdfilosx, {_ABOUT}"),
    *program("paste", f"-d --delimiters=, -s --serial, -z --zero-terminated, {_ABOUT}"),
    *program("pathchk", f"-p, -P, --portability, {_ABOUT}"),
    *program("printenv", f"-0 --null, {_ABOUT}"),
    *program("pwd", f"-L --logical, -P --physical, {_ABOUT}"),
    *program("readlink", "-f --canonicalize, -e --canonicalize-existing, -m --canonicalize-missing, "
             f"-n --no-newline, -q --quiet, -s --silent, -v --verbose, -z --zero, {_ABOUT}"),
    *program("realpath", "-e --canonicalize-existing, -m --canonicalize-missing, -L --logical, "
             "-P --physical, -q --quiet, --relative-to=, --relative-base=, -s --strip --no-symlinks, "
             f"-z --zero, {_ABOUT}"),
    *program("rev", "-h --help, -V --version"),
    *program("pr", "-a --across, -c --show-control-chars, -d --double-space, -D --date-format=, "
             "-e[=], --expand-tabs[=], -f -F --form-feed, -h --header=, -i[=], --output-tabs[=], "
             "-J --join-lines, -l --length=, -m --merge, -n[=], --number-lines[=], -N --first-line-number=, "
             "-o --indent=, -r --no-file-warnings, -s[=], --separator[=], -S[=], --sep-string[=], "
             f"-t --omit-header, -T --omit-pagination, -v --show-nonprinting, -w --width=, -W --page-width=, "
             f"--columns=, --pages=, {_ABOUT}", numbers=True),
    *program("seq", f"-f --format=, -s --separator=, -w --equal-width, {_ABOUT}", numbers=True),
    *program("shuf", "-e --echo, -i --input-range=, -n --head-count=, --random-source=, -r --repeat, "
             f"-z --zero-terminated, {_ABOUT}", writes="-o --output="),
    *program("sleep tsort", _ABOUT),
    *program("stat", "-L --dereference, -f --file-system, --cached=, -c --format=, --printf=, "
             f"-t --terse, {_ABOUT}"),
    *program("sum", f"-r, -s --sysv, {_ABOUT}"),
    *program("tac", f"-b --before, -r --regex, -s --separator=, {_ABOUT}"),
    *program("tail", "-c --bytes=, -f, --follow[=], -F, -n --lines=, --max-unchanged-stats=, --pid=, "
             "-q --quiet --silent, --retry, -s --sleep-interval=, -v --verbose, -z --zero-terminated, "
             f"{_ABOUT}", numbers=True, behind_numbers="bclf"),
    *program("tr", f"-c -C --complement, -d --delete, -s --squeeze-repeats, -t --truncate-set1, {_ABOUT}"),
    *program("tty", f"-s --silent --quiet, {_ABOUT}"),
    *program("uname", "-a --all, -s --kernel-name, -n --nodename, -r --kernel-release, "
             "-v --kernel-version, -m --machine, -p --processor, -i --hardware-platform, "
             f"-o --operating-system, {_ABOUT}"),
    *program("uniq", "-c --count, -d --repeated, -D, --all-repeated[=], -f --skip-fields=, --group[=], "
             "-i --ignore-case, -s --skip-chars=, -u --unique, -z --zero-terminated, "
             f"-w --check-chars=, {_ABOUT}", numbers=True, output=1),
    *program("wc", "-c --bytes, -m --chars, -l --lines, --files0-from=, -L --max-line-length, "
             f"-w --words, {_ABOUT}"),
    *program("which", "-a, -s"),
    *program("who", "-a --all, -b --boot, -d --dead, -H --heading, -l --login, -m, "
             "-p --process, -q --count, -r --runlevel, -s --short, -t --time, -T -w --mesg, -u --users, "
             f"--message, --writable, {_ABOUT}", network="--ips, --lookup"),
]  # fmt: skip
