"""Programs that look at processes, disks and the network of this machine, or change them."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._builtins import read_ip, read_netstat, read_ss

__all__ = ["PROGRAMS"]

_MATCH = (
    "-c --count, -f --full, -g --pgroup=, -G --group=, -i --ignore-case, -n --newest, -o --oldest, "
    "-O --older=, -P --parent=, -s --session=, -t --terminal=, -u --euid=, -U --uid=, -x --exact, "
    "-F --pidfile=, -L --logpidfile, -r --runstates=, -A --ignore-ancestors, -h --help, -V --version"
)

PROGRAMS = [
    *program("findmnt", "-s --fstab, -m --mtab, -k --kernel, -A --all, -a --ascii, -b --bytes, "
             "-C --nocanonicalize, -D --df, -f --first-only, -i --invert, -J --json, -l --list, "
             "-n --noheadings, -O --options=, "
             "-o --output=, --output-all, -P --pairs, -R --submounts, -r --raw, -S --source=, -T --target=, "
             "--tree, -M --mountpoint=, -t --types=, -U --uniq, -u --notruncate, -h --help, -V --version",
             partial=True),
    *program("free", "-b --bytes, --kilo, --mega, --giga, --tera, --peta, -k --kibi, -m --mebi, -g --gibi, "
             "--tebi, --pebi, -h --human, --si, -l --lohi, -t --total, -v --committed, -s --seconds=, "
             "-c --count=, -w --wide, --help, -V --version"),
    *program("getent", "-A --no-addrconfig, -i --no-idn, -s --service=, --help, --usage, -V --version",
             base="network"),
    *program("ip", "-4, -6, -o, -s, -d, -j, -p, -br, -brief, -c, -color, -json, -details, -stats, -V",
             bundles=False, reader=read_ip),
    *program("killall", "-e, -I, -g, -i, -q, -r, -s=, -u=, -v, -w, -V, -l", base="write", numbers=True,
             partial=True),
    *program("locale", "-a --all-locales, -m --charmaps, -c --category-name, -k --keyword-name, "
             "-v --verbose, --help, --usage, -V --version"),
    *program("lsblk", "-A --noempty, -D --discard, -I --include=, -J --json, -M --merge, -O --output-all, "
             "-P --pairs, -S --scsi, -T --tree[=], -a --all, -b --bytes, -d --nodeps, -e --exclude=, "
             "-f --fs, -i --ascii, -l --list, -m --perms, -n --noheadings, -o --output=, -p --paths, "
             "-r --raw, "
             "-s --inverse, -t --topology, -w --width=, -x --sort=, -h --help, -V --version", partial=True),
    *program("lscpu", "-a --all, -b --online, -B --bytes, -C --caches[=], -c --offline, -J --json, "
             "-e --extended[=], -p --parse[=], -x --hex, -y --physical, --output-all, -h --help, "
             "-V --version", partial=True),
    *program("netstat", "-r --route, -i --interfaces, -g --groups, -s --statistics, -v --verbose, -W --wide, "
             "-n --numeric, --numeric-hosts, --numeric-ports, -e --extend, -p --programs, -o --timers, "
             "-l --listening, -a --all, -t --tcp, -u --udp, -4, -6, -x --unix", partial=True,
             reader=read_netstat),
    *program("pgrep", "-d --delimiter=, -l --list-name, -a --list-full, -v --inverse, "
             f"-w --lightweight, {_MATCH}", partial=True),
    *program("pkill", f"-e --echo, --signal=, {_MATCH}", base="write", numbers=True, partial=True),
    *program("ps vmstat w whereis", anything=True),
    *program("ss", "-h --help, -V --version, -n --numeric, -a --all, -l --listening, "
             "-o --options, -e --extended, -m --memory, -p --processes, -i --info, -s --summary, "
             "-4 --ipv4, -6 --ipv6, "
             "-0 --packet, -t --tcp, -u --udp, -w --raw, -x --unix, -f --family=, -H --no-header, "
             "-O --oneline", writes="-K --kill, -D --diag=", network="-r --resolve", reader=read_ss),
    *program("uptime", "-p --pretty, -h --help, -s --since, -V --version"),
]  # fmt: skip
