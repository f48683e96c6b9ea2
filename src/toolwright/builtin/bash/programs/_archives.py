"""Programs that pack, unpack and compress."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._archives import (
    read_rsync,
    read_tar,
    read_unzip,
    reads_in_mode,
)

__all__ = ["PROGRAMS"]

_TO_STDOUT = reads_in_mode("-c", "--stdout", tests=("-l", "-t"), packs=("-d", "-z"))
_XZ = (
    "-z --compress, -d --decompress --uncompress, -t --test, -l --list, -k --keep, -f --force, "
    "-c --stdout --to-stdout, -e --extreme, -T --threads=, -q --quiet, -v --verbose, -h --help, "
    "-H --long-help, -V --version, -0123456789, --no-warn, --single-stream, --no-sparse, -M --memlimit=, "
    "-S --suffix=, -F --format=, -C --check="
)
_GZIP = (
    "-c --stdout --to-stdout, -d --decompress --uncompress, -f --force, -h --help, -k --keep, -l --list, "
    "-L --license, -n --no-name, -N --name, -q --quiet, -r --recursive, --rsyncable, -S --suffix=, "
    "-t --test, -v --verbose, -V --version, -123456789, --fast, --best"
)
_BZIP2 = (
    "-h --help, -d --decompress, -z --compress, -k --keep, -f --force, -t --test, -c --stdout, -q --quiet, "
    "-v --verbose, -L --license, -V --version, -s --small, -123456789, --fast, --best"
)

PROGRAMS = [
    *program("gzip gunzip", _GZIP, base="write", reader=_TO_STDOUT),
    *program("zcat", "-f --force, -h --help, -l --list, -q --quiet, -r --recursive, -S --suffix=, "
             "--synchronous, -t --test, -v --verbose, -V --version"),
    *program("bzip2 bunzip2", _BZIP2, base="write", reader=_TO_STDOUT),
    *program("bzcat", _BZIP2),
    *program("xz unxz lzma unlzma", _XZ, base="write", reader=_TO_STDOUT),
    *program("xzcat lzcat", _XZ),
    *program("zstd unzstd", "-k --keep, -d --decompress --uncompress, -f --force, -h, --help, "
             "-V --version, -c --stdout, -v --verbose, -q --quiet, -r, -T==, --threads=, -l --list, "
             "-t --test, --ultra, --fast[=], --long[=], --adapt, --no-progress, -123456789",
             base="write", numbers=True, writes="-o=, --rm", reader=_TO_STDOUT),
    *program("zstdcat", "-f --force, -q --quiet", writes="-o=", partial=True),
    *program("rsync", "-v --verbose, -q --quiet, -a --archive, -r --recursive, -R --relative, -b --backup, "
             "--backup-dir=, -u --update, --inplace, --append, -d --dirs, -l --links, -L --copy-links, "
             "-H --hard-links, -p --perms, -E --executability, --chmod=, -o --owner, -g --group, "
             "-D, -t --times, -O --omit-dir-times, -S --sparse, -n --dry-run, -W --whole-file, "
             "-x --one-file-system, --existing, --ignore-existing, --remove-source-files, --del, "
             "--delete, --delete-before, --delete-during, --delete-after, --delete-excluded, "
             "--max-delete=, --max-size=, --min-size=, --partial, -m --prune-empty-dirs, --timeout=, "
             "-I --ignore-times, --size-only, -y --fuzzy, -c --checksum, -z --compress, -C --cvs-exclude, "
             "-f --filter=, --exclude=, --exclude-from=, --include=, --include-from=, -0 --from0, --stats, "
             "-h --human-readable, --progress, -P, -i --itemize-changes, --out-format=, --list-only, "
             "--bwlimit=, --version, --help", base="write",
             executes="-e --rsh=, --rsync-path=, -M --remote-option=",
             config="--config=, --daemon, --files-from=", reader=read_rsync),
    *program("tar", "-A --catenate --concatenate, -c --create, --delete, -d --diff --compare, -r --append, "
             "-t --list, -u --update, -x --extract --get, --ignore-failed-read, --occurrence[=], "
             "-S --sparse, --add-file=, -C --directory=, --exclude=, --exclude-backups, "
             "--exclude-caches, --exclude-tag=, --exclude-vcs, --exclude-vcs-ignores, --no-recursion, "
             "--recursion, -X --exclude-from=, --anchored, --no-anchored, --ignore-case, --wildcards, "
             "--no-wildcards, --keep-newer-files, -k --keep-old-files, --one-top-level[=], --overwrite, "
             "--remove-files, --skip-old-files, -U --unlink-first, -W --verify, -O --to-stdout, --group=, "
             "--mode=, --mtime=, -m --touch, --no-same-owner, --no-same-permissions, --numeric-owner, "
             "--owner=, -p --preserve-permissions --same-permissions, --same-owner, --sort=, "
             "--force-local, -f --file=, -b --blocking-factor=, -i --ignore-zeros, -H --format=, "
             "--posix, -V --label=, -a --auto-compress, -j --bzip2, -J --xz, --lzip, --lzma, --zstd, "
             "-z --gzip --gunzip --ungzip, -h --dereference, -N --newer --after-date=, "
             "--newer-mtime=, --one-file-system, -P --absolute-names, --strip-components=, "
             "--transform --xform=, --checkpoint[=], --full-time, --quoting-style=, -R --block-number, "
             "--show-transformed-names, --totals[=], --utc, -v --verbose, --warning=, --help, --version",
             base="write", raw=True, reader=read_tar,
             writes="--index-file=, -g --listed-incremental=",
             executes="-I --use-compress-program=, --to-command=, --checkpoint-action=, "
             "-F --info-script --new-volume-script=, --rsh-command=, --rmt-command=, -T --files-from="),
    *program("unzip", "-lqtnojvpuCLaX, -d=, -P=", base="write", permutes=False,
             reader=read_unzip),
    *program("zip", "-rqjyuv0123456789", base="write", executes="-T, --unzip-command="),
]  # fmt: skip
