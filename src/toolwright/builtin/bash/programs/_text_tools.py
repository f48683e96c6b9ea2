"""Programs that search, compare and change text."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._awk import read_awk
from toolwright.builtin.bash.readers._builtins import read_less, read_xargs
from toolwright.builtin.bash.readers._find import read_find
from toolwright.builtin.bash.readers._sed import read_sed

__all__ = ["PROGRAMS"]

_ABOUT = "--help, --version"

PROGRAMS = [
    *program("awk mawk nawk", f"-F=, -v=, {_ABOUT}", config="-f=", executes="-W=",
             permutes=False, reader=read_awk),
    *program("gawk", "-F --field-separator=, -v --assign=, -b --characters-as-bytes, -c --traditional, "
             f"-P --posix, -r --re-interval, -S --sandbox, {_ABOUT}",
             config="-f --file=, -i --include=, -E --exec=", executes="-l --load=, -D --debug[=]",
             writes="-o --pretty-print[=], -p --profile[=], -d --dump-variables[=]",
             permutes=False, reader=read_awk),
    *program("bc", "-h --help, -i --interactive, -l --mathlib, -q --quiet, -s --standard, "
             "-w --warn, -v --version"),
    *program("column", "-t --table, -n --table-name=, -O --table-order=, -N --table-columns=, "
             "-E --table-noextreme=, -l --table-columns-limit=, -d --table-noheadings, "
             "-e --table-header-repeat, -H --table-hide=, "
             "-R --table-right=, -T --table-truncate=, -W --table-wrap=, -L --keep-empty-lines, "
             "-J --json, -r --tree=, -i --tree-id=, -p --tree-parent=, -c --output-width=, "
             "-o --output-separator=, -s --separator=, -x --fillrows, -h --help, -V --version"),
    *program("diff", "--normal, -q --brief, -s --report-identical-files, -c, -C=, --context[=], -u, "
             "-U=, --unified[=], -e --ed, -n --rcs, -y --side-by-side, -W --width=, --left-column, "
             "--suppress-common-lines, -p --show-c-function, -F --show-function-line=, --label=, "
             "-t --expand-tabs, -T --initial-tab, --tabsize=, --suppress-blank-empty, -r --recursive, "
             "--no-dereference, -N --new-file, --unidirectional-new-file, --ignore-file-name-case, "
             "--no-ignore-file-name-case, -x --exclude=, -X --exclude-from=, -S --starting-file=, "
             "--from-file=, --to-file=, -i --ignore-case, -E --ignore-tab-expansion, "
             "-Z --ignore-trailing-space, -b --ignore-space-change, -w --ignore-all-space, "
             "-B --ignore-blank-lines, -I --ignore-matching-lines=, -a --text, --strip-trailing-cr, "
             "-D --ifdef=, --line-format=, -d --minimal, --horizon-lines=, --speed-large-files, "
             "--color[=], --palette=, --help, -v --version", executes="-l --paginate", numbers=True),
    *program("diff3", "-A --show-all, -e --ed, -E --show-overlap, -3 --easy-only, -x --overlap-only, -X, "
             "-i, -m --merge, -a --text, --strip-trailing-cr, -T --initial-tab, -L --label=, --help, "
             "-v --version", executes="--diff-program="),
    *program("fd fdfind", "-H --hidden, -I --no-ignore, -u --unrestricted, -s --case-sensitive, "
             "-i --ignore-case, -g --glob, --regex, -F --fixed-strings, -a --absolute-path, "
             "-l --list-details, -L --follow, -p --full-path, -d --max-depth=, --min-depth=, "
             "--exact-depth=, --prune, -E --exclude=, -t --type=, -e --extension=, -S --size=, "
             "--changed-within=, --changed-before=, -o --owner=, --max-results=, -1, -q --quiet, "
             "-0 --print0, -c --color=, -j --threads=, -h --help, -V --version",
             executes="-x --exec, -X --exec-batch"),
    *program("file", "--help, -v --version, -b --brief, -c --checking-printout, -e --exclude=, "
             "--exclude-quiet=, -f --files-from=, -F --separator=, -i --mime, --apple, --extension, "
             "--mime-type, --mime-encoding, -k --keep-going, -l --list, -L --dereference, "
             "-h --no-dereference, -n --no-buffer, -N --no-pad, -0 --print0, -r --raw, -s --special-files",
             config="-m --magic-file=", writes="-C --compile, -p --preserve-date",
             executes="-z --uncompress, -Z --uncompress-noreport"),
    *program("find", raw=True, reader=read_find),
    *program("grep egrep fgrep", "-E --extended-regexp, -F --fixed-strings, -G --basic-regexp, "
             "-P --perl-regexp, -e --regexp=, -f --file=, -i --ignore-case, -y, --no-ignore-case, "
             "-w --word-regexp, -x --line-regexp, -z --null-data, -s --no-messages, -v --invert-match, "
             "-V --version, --help, -m --max-count=, -b --byte-offset, -n --line-number, "
             "--line-buffered, -H --with-filename, -h --no-filename, --label=, -o --only-matching, "
             "-q --quiet --silent, --binary-files=, -a --text, -I, -d --directories=, -D --devices=, "
             "-r --recursive, -R --dereference-recursive, --include=, --exclude=, --exclude-from=, "
             "--exclude-dir=, -L --files-without-match, -l --files-with-matches, -c --count, "
             "-T --initial-tab, -Z --null, -B --before-context=, -A --after-context=, -C --context=, "
             "--group-separator=, --no-group-separator, --color[=], --colour[=], -U --binary", numbers=True),
    *program("hexdump hd", "-b --one-byte-octal, -c --one-byte-char, -C --canonical, "
             "-d --two-bytes-decimal, -o --two-bytes-octal, -x --two-bytes-hex, -L --color[=], "
             "-e --format=, -f --format-file=, -n --length=, -s --skip=, -v --no-squeezing, -h --help, "
             "-V --version"),
    *program("iconv", "-f --from-code=, -t --to-code=, -l --list, -c, -s --silent, --verbose, --help, "
             "-V --version", writes="-o --output="),
    *program("jq", anything=True),
    *program("less", "-aceEfFgGiIJKLmMnNqQrRsSuUwWX", writes="-o --log-file=, -O --LOG-FILE=",
             config="-k --lesskey-file=", quiet=("-L",), reader=read_less),
    *program("nm", "-a --debug-syms, -A --print-file-name, -B, -C --demangle[=], --no-demangle, "
             "-D --dynamic, -f --format=, -g --extern-only, -j --just-symbols, -l --line-numbers, "
             "-n --numeric-sort, -o, -p --no-sort, -P --portability, -r --reverse-sort, -S --print-size, "
             "-s --print-armap, --quiet, --size-sort, --special-syms, -t --radix=, -u --undefined-only, "
             "--defined-only, -h --help, -V --version", executes="--plugin=", response_files=True),
    *program("objdump", "-a --archive-headers, -f --file-headers, -p --private-headers, -h, "
             "-x --all-headers, -d --disassemble[=], -D --disassemble-all, -s --full-contents, -t --syms, "
             "-T --dynamic-syms, -r --reloc, -R --dynamic-reloc, -v --version, -i --info, -H --help, "
             "-b --target=, -m --architecture=, -j --section=, -M --disassembler-options=, "
             "-C --demangle[=], -w --wide, -z --disassemble-zeroes, --start-address=, --stop-address=",
             response_files=True),
    *program("patch", "-p --strip=, -F --fuzz=, -l, -u --unified, -N --forward, -R --reverse, "
             "-i --input=, -E --remove-empty-files, -b --backup, --backup-if-mismatch, "
             "--no-backup-if-mismatch, -t --batch, -f --force, -s --quiet --silent, --verbose, --dry-run, "
             "-d --directory=, --binary, --merge[=], -o --output=, -r --reject-file=, -v --version, --help",
             base="write", executes="-e --ed, -g --get=", quiet=("-u",)),
    *program("rg", "-e --regexp=, -f --file=, -A --after-context=, -B --before-context=, -C --context=, "
             "-c --count, --count-matches, --color=, --colors=, --column, -E --encoding=, --engine=, "
             "-F --fixed-strings, --files, -l --files-with-matches, --files-without-match, -L --follow, "
             "-g --glob=, --iglob=, --heading, --no-heading, -. --hidden, -i --ignore-case, "
             "-v --invert-match, --json, -n --line-number, -N --no-line-number, -x --line-regexp, "
             "-M --max-columns=, -m --max-count=, -d --max-depth=, --max-filesize=, -U --multiline, "
             "--multiline-dotall, --no-ignore, --no-ignore-vcs, --no-messages, -0 --null, "
             "-o --only-matching, --passthru, -P --pcre2, -p --pretty, -q --quiet, -r --replace=, "
             "-s --case-sensitive, -S --smart-case, --sort=, --sortr=, --stats, -a --text, -j --threads=, "
             "--trim, -t --type=, -T --type-not=, --type-list, -u --unrestricted, --vimgrep, "
             "-H --with-filename, -I --no-filename, -w --word-regexp, --no-config, -h --help, -V --version",
             executes="--pre=, --hostname-bin=, -z --search-zip", quiet=("--no-config",)),
    *program("readelf", "-a --all, -h --file-header, -l --program-headers --segments, "
             "-S --section-headers --sections, -e --headers, -s --syms --symbols, --dyn-syms, -n --notes, "
             "-r --relocs, -d --dynamic, -V --version-info, -x --hex-dump=, -p --string-dump=, -W --wide, "
             "-H --help, -v --version", response_files=True),
    *program("sed gsed", "-n --quiet --silent, --debug, -e --expression=, --follow-symlinks, --posix, "
             "-E -r --regexp-extended, -s --separate, --sandbox, -u --unbuffered, -z --null-data, "
             f"{_ABOUT}", writes="-i --in-place[=]", config="-f --file=", reader=read_sed),
    *program("size", "-ABdotx, --format=, --radix=, --common, --totals, -h --help, -V --version",
             response_files=True),
    *program("sort", "-b --ignore-leading-blanks, -d --dictionary-order, -f --ignore-case, "
             "-g --general-numeric-sort, -i --ignore-nonprinting, -M --month-sort, "
             "-h --human-numeric-sort, -n --numeric-sort, -R --random-sort, --random-source=, "
             "-r --reverse, --sort=, -V --version-sort, --batch-size=, -c, -C, --check[=], --debug, "
             "--files0-from=, -k --key=, -m --merge, -s --stable, -S --buffer-size=, "
             f"-t --field-separator=, --parallel=, -u --unique, -z --zero-terminated, {_ABOUT}",
             writes="-o --output=, -T --temporary-directory=", executes="--compress-program="),
    *program("strings", "-a --all, -f --print-file-name, -n --bytes=, -t --radix=, "
             "-w --include-all-whitespace, -o, -e --encoding=, -s --output-separator=, -h --help, "
             "-v -V --version", response_files=True),
    *program("tree", "-adflxpsughDFqNQrtcUviAnCSJX, -L=, -P=, -I=, --prune, --noreport, --dirsfirst, "
             "--filesfirst, --gitignore, --matchdirs, --ignore-case, --du, --si, --inodes, --device, "
             "--sort==, --filelimit=, --timefmt=, --charset=, --help, --version", writes="-o=, -R",
             glues=False),
    *program("xargs", "-0 --null, -a --arg-file=, -d --delimiter=, -E=, -e[=], --eof[=], -I=, -i[=], "
             "--replace[=], -L=, -l[=], --max-lines[=], -n --max-args=, -o --open-tty, -P --max-procs=, "
             "-p --interactive, -r --no-run-if-empty, -s --max-chars=, --show-limits, -t --verbose, "
             f"-x --exit, {_ABOUT}", config="--process-slot-var=", command=0, reader=read_xargs),
    *program("xxd", "-a, -b, -C, -c=, -cols=, -E, -e, -g=, -i, -l=, -len=, -n=, -o=, -p, -ps, -plain, -r, "
             "-d, -s=, -u, -v, -h", permutes=False, bundles=False, output=1),
    *program("yq", "-r --raw-output, -c, -n --null-input, -M --no-colors, -C --colors, -P --prettyPrint, "
             "-e --exit-status, -j, -N --no-doc, -o==, --output-format==, -p==, --input-format==, "
             "-V --version, -h --help", writes="-i --inplace --in-place"),
]  # fmt: skip
