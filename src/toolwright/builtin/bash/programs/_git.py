"""git: what each sub-command reads, writes and reaches, and which of its options run programs.

Left out on purpose: sub-commands and options that run a program they are given (`bisect run`,
`rebase --exec`, `submodule foreach`, `--upload-pack`, `--ext-diff`, `--textconv`, `--help`), that take
settings (`-c`, `--template`), that look into other repositories (`--recurse-submodules`,
`--submodule=diff`), that merge in order to show something (`--remerge-diff`), or whose settings of programs
cannot be turned off (`gc`).
"""

import re

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._git import (
    STRATEGIES,
    lists_unless_named,
    read_config,
    read_git,
    read_nested,
    read_status,
    writes_when_given,
)

__all__ = ["PROGRAMS"]

_PATHSPECS = "--pathspec-from-file=, --pathspec-file-nul"
_DIFF = (
    "-p -u --patch, -s --no-patch, -U[=], --unified==, -W --function-context, --raw, "
    "--patch-with-raw, --patch-with-stat, --numstat, --shortstat, --dirstat[=], --cumulative, --check, "
    "--summary, --name-only, --name-status, --stat[=], --stat-width=, --stat-name-width=, "
    "--stat-count=, --compact-summary, --binary, --full-index, --color[=], --no-color, "
    "--ws-error-highlight=, -z, --abbrev[=], --no-abbrev, --src-prefix=, --dst-prefix=, "
    "--line-prefix=, --no-prefix, --inter-hunk-context=, -B[=], --break-rewrites[=], -M[=], "
    "--find-renames[=], -D --irreversible-delete, -C[=], --find-copies[=], --find-copies-harder, "
    "--no-renames, --follow, -l=, --minimal, -w --ignore-all-space, -b --ignore-space-change, "
    "--ignore-space-at-eol, --ignore-cr-at-eol, --ignore-blank-lines, --indent-heuristic, --patience, "
    "--histogram, --diff-algorithm=, --anchored=, --word-diff[=], --word-diff-regex=, "
    "--color-words[=], --color-moved[=], --relative[=], --no-relative, -a --text, -R, --exit-code, "
    "--quiet, --no-ext-diff, --no-textconv, --ignore-submodules[=]all|dirty, -S=, -G=, --pickaxe-all, "
    "--pickaxe-regex, --diff-filter=, --find-object="
)
_ATTACHED = re.sub(r"(-[\w-]+)=(?=,|$)", r"\1==", _DIFF)
"""The same for a sub-command that picks out all words without a dash before it reads the others."""
_COMPARED = "--cached, --staged, --merge-base, --no-index, --base, --ours, --theirs, -0, -1, -2, -3"
_REVISIONS = (
    "--max-count=, --skip=, --since=, --after=, --until=, --before=, --author=, --committer=, --grep=, "
    "--all-match, --invert-grep, -i --regexp-ignore-case, -E --extended-regexp, -F --fixed-strings, "
    "-P --perl-regexp, --merges, --no-merges, --first-parent, --all, --branches[=], --tags[=], "
    "--remotes[=], --glob=, --exclude=, --reflog, -g --walk-reflogs, --boundary, --oneline, --pretty[=], "
    "--format==, --abbrev-commit, --no-abbrev-commit, --graph, --no-graph, --date=, --relative-date, "
    "--topo-order, --date-order, --author-date-order, --reverse, --left-right, --cherry-pick, "
    "--cherry-mark, --cherry, --left-only, --right-only, --simplify-by-decoration, --full-history, "
    "--ancestry-path, --dense, --sparse, --show-pulls, --parents, --children, --no-walk[=], --notes[=], "
    "--no-notes, -c, --cc, -m, --diff-merges=off|none|on|m|first-parent|1|separate|combined|c|cc, "
    "--min-parents==, --max-parents==, --bisect, --encoding=, --expand-tabs[=], --no-expand-tabs, --count, "
    "--objects, --unpacked, -t"
)
_LOG = (
    f"{_REVISIONS}, --decorate[=], --no-decorate, --decorate-refs=, --source, --mailmap, --use-mailmap, "
    "--no-mailmap, --log-size, -n=, -L="
)
_SHOWN = f"{_DIFF}, {_LOG}"
_UNSAFE_DIFF = {"writes": "--output=", "executes": "--ext-diff, --textconv, --show-signature"}
_FETCH = (
    "-v --verbose, -q --quiet, --all, --set-upstream, -a --append, -f --force, -t --tags, "
    "--prune, --dry-run, -k --keep, --progress, --depth=, --shallow-since=, "
    "--shallow-exclude=, --deepen=, --unshallow, --update-shallow, -4 --ipv4, -6 --ipv6"
)

_SUB_COMMANDS = [
    program("add", "-n --dry-run, -v --verbose, -f --force, -u --update, --renormalize, "
            "-N --intent-to-add, -A --all, --ignore-removal, --refresh, --ignore-errors, "
            f"--ignore-missing, --sparse, --chmod=, {_PATHSPECS}", base="write", negates=True),
    program("am", "-3 --3way, -q --quiet, -s --signoff, -k --keep, --keep-cr, --whitespace=, "
            "--directory=, -p=, --reject, --continue, -r --resolved, --skip, --abort, --quit",
            base="write", negates=True),
    program("apply", "--exclude=, --include=, -p=, --stat, --numstat, --summary, --check, --index, "
            "-N --intent-to-add, --cached, --apply, -3 --3way, -z, -C=, --whitespace=, "
            "--ignore-space-change, --ignore-whitespace, -R --reverse, --unidiff-zero, --reject, "
            "-v --verbose, -q --quiet, --inaccurate-eof, --recount, --directory=, --allow-empty",
            base="write", negates=True),
    program("archive", "--format=, --prefix=, --add-file=, --worktree-attributes, -v --verbose, "
            "-l --list, -o --output=", base="write", numbers=True),
    program("bisect", base="write", raw=True, reader=read_nested, commands=[
        program("start good bad new old reset skip log", "--term-new==, --term-old==, --no-checkout, "
                "--first-parent", base="write"),
    ]),
    program("blame annotate", "--incremental, -b, --root, --show-stats, --progress, -f --show-name, "
            "-n --show-number, -p --porcelain, --line-porcelain, -c, -t, -l, -s, -e --show-email, -w, "
            "--ignore-rev=, --ignore-revs-file=, --color-lines, --color-by-age, --minimal, -C[=], -M[=], "
            "-L=, --abbrev[=], --date=, --since==, --reverse, --first-parent, --no-textconv",
            bundles=False, rereads=True, executes="--textconv"),
    program("branch", "-v --verbose, -q --quiet, --color[=], -r --remotes, --contains=?, "
            "--no-contains=?, --abbrev[=], -a --all, -l --list, --show-current, --merged=?, "
            "--no-merged=?, --column[=], --sort=, --points-at=, -i --ignore-case, --format=",
            writes="-t --track[=], -u --set-upstream-to=, --unset-upstream, -d --delete, -D, -m --move, "
            "-M, -c --copy, -C, --create-reflog, --edit-description, -f --force", base="write",
            negates=True, reader=lists_unless_named("-l", "--list", "--contains", "--merged",
                                                   "--no-merged", "--no-contains", "--points-at")),
    program("cat-file", "-epts, --allow-unknown-type, --use-mailmap, --batch[=], --batch-check[=], "
            "--batch-command[=], --batch-all-objects, --buffer, --unordered, --path=",
            executes="--textconv, --filters"),
    program("check-attr", "-a --all, --cached, --stdin, -z"),
    program("check-ignore", "-q --quiet, -v --verbose, --stdin, -z, -n --non-matching, --no-index"),
    program("checkout", "-b=, -B=, -l, --guess, --overlay, -q --quiet, --progress, -m --merge, "
            "--conflict=, -d --detach, -t, --track[=], -f --force, --orphan=, --overwrite-ignore, "
            f"--ignore-other-worktrees, -2 --ours, -3 --theirs, --ignore-skip-worktree-bits, {_PATHSPECS}",
            base="write", negates=True),
    program("cherry", "--abbrev[=], -v --verbose"),
    program("cherry-pick revert", "--quit, --continue, --abort, --skip, --cleanup=, -n --no-commit, "
            f"-e --edit, -s --signoff, -m --mainline=, --strategy={STRATEGIES}, -X --strategy-option=, -x, "
            "--ff, --allow-empty, --allow-empty-message, --keep-redundant-commits, --reference",
            base="write", negates=True, rereads=True),
    program("clean", "-q --quiet, -n --dry-run, -f --force, -d, -e --exclude=, -x, -X", base="write"),
    program("clone", "-v --verbose, -q --quiet, --progress, --reject-shallow, -n --no-checkout, --bare, "
            "--mirror, --no-hardlinks, --no-tags, -o --origin=, -b --branch=, --depth=, "
            "--shallow-since=, --shallow-exclude=, --single-branch, -4 --ipv4, -6 --ipv6, --filter=, "
            "--sparse, -j --jobs=", base="network", negates=True,
            executes="-u --upload-pack=", config="-c --config=, --template="),
    program("commit", "-q --quiet, -v --verbose, -F --file=, --author=, --date=, -m --message=, "
            "-c --reedit-message=, -C --reuse-message=, --fixup=, --squash=, --reset-author, "
            "-s --signoff, -t --template=, -e --edit, --cleanup=, --status, -a --all, -i --include, "
            "-o --only, -n --no-verify, --dry-run, --short, --branch, --ahead-behind, --porcelain, --long, "
            f"-z --null, --amend, --allow-empty, --allow-empty-message, --no-gpg-sign, {_PATHSPECS}",
            base="write", negates=True, executes="-S --gpg-sign[=], --trailer="),
    program("config", "--global, --system, --local, --worktree, --get, --get-all, --get-regexp, "
            "-l --list, --bool, --int, --path, -z --null, --name-only, --includes, --show-origin, "
            "--show-scope, --default=, -t --type=", config="--add, --unset, --unset-all, --replace-all, "
            "--rename-section, --remove-section, -e --edit, -f --file=", reader=read_config),
    program("count-objects", "-v --verbose, -H --human-readable"),
    program("describe", "--contains, --debug, --all, --tags, --long, --first-parent, --abbrev[=], "
            "--exact-match, --candidates=, --match=, --exclude=, --always, --dirty[=], --broken[=]",
            negates=True, reader=writes_when_given("--dirty", "--broken")),
    program("diff", f"{_DIFF}, {_COMPARED}", bundles=False, rereads=True, writes="--output=",
            executes="--ext-diff, --textconv"),
    program("diff-files diff-index diff-tree", f"{_DIFF}, --cached, --merge-base, -r, -t, --root, "
            "--no-commit-id, --stdin, -m, -c, --cc, --pretty[=], --format==, -v", bundles=False, rereads=True,
            writes="--output=",
            executes="--ext-diff, --textconv"),
    program("fetch", f"{_FETCH}, --atomic, --prune-tags, -m --multiple, -n --no-tags, -j --jobs=, -p, "
            "-P, --prefetch, --write-fetch-head, --filter=, --auto-gc, --auto-maintenance",
            base="network", negates=True,
            executes="--upload-pack="),
    program("for-each-ref", "-s --shell, -p --perl, --python, --tcl, --count=, --format=, --color[=], "
            "--sort=, --points-at=, --merged=?, --no-merged=?, --contains=?, --no-contains=?, "
            "--ignore-case"),
    program("format-patch", f"{_DIFF}, --numbered, -N --no-numbered, --signoff, --stdout, --cover-letter, "
            "--numbered-files, --suffix==, --start-number==, -v=, --subject-prefix==, -o=, "
            "--output-directory==, -k --keep-subject, -n, -q, --root, --zero-commit, --thread[=], --base==",
            base="write", bundles=False, rereads=True, executes="--ext-diff, --textconv", numbers=True),
    program("fsck", "-v --verbose, --unreachable, --dangling, --tags, --root, --cache, --reflogs, "
            "--full, --connectivity-only, --strict, --progress, --name-objects", writes="--lost-found",
            negates=True),
    program("grep", "--cached, --no-index, --untracked, --exclude-standard, -v --invert-match, "
            "-i --ignore-case, -w --word-regexp, -a --text, -I, -r --recursive, --max-depth=, "
            "-E --extended-regexp, -G --basic-regexp, -F --fixed-strings, -P --perl-regexp, "
            "-n --line-number, --column, -h, -H, --full-name, -l --files-with-matches, --name-only, "
            "-L --files-without-match, -z --null, -o --only-matching, -c --count, --color[=], --break, "
            "--heading, -C --context=, -B --before-context=, -A --after-context=, --threads=, "
            "-p --show-function, -W --function-context, -f=, -e=, --and, --or, --not, -q --quiet, "
            "--all-match, -m --max-count=", numbers=True, negates=True,
            executes="-O[=], --open-files-in-pager[=], --textconv, --ext-grep"),
    program("hash-object", "-t=, -w, --stdin, --stdin-paths, --no-filters, --path=", base="write"),
    program("init", "--bare, --shared[=], -q --quiet, -b --initial-branch=, --object-format=",
            base="write", config="--template=, --separate-git-dir="),
    program("log whatchanged", _SHOWN, bundles=False, rereads=True, numbers=True, **_UNSAFE_DIFF),
    program("reflog", base="read", raw=True, reader=read_nested, default="show", commands=[
        program("show", _SHOWN, bundles=False, rereads=True, numbers=True, **_UNSAFE_DIFF),
        program("exists"),
        program("expire delete", "--expire==, --all, --rewrite, --updateref, --dry-run, --verbose",
                base="write"),
    ]),
    program("ls-files", "-z, -t, -v, -f, -c --cached, -d --deleted, -m --modified, -o --others, "
            "-i --ignored, -s --stage, -k --killed, --directory, --eol, --empty-directory, "
            "-u --unmerged, --resolve-undo, -x --exclude=, -X --exclude-from=, "
            "--exclude-per-directory=, --exclude-standard, --full-name, --error-unmatch, --with-tree=, "
            "--abbrev[=], --debug, --deduplicate, --sparse, --format=", negates=True),
    program("ls-remote", "-q --quiet, -t --tags, -h --heads, --branches, --refs, --get-url, --sort=, "
            "--exit-code, --symref", base="network", executes="--upload-pack="),
    program("ls-tree", "-drtz, -l --long, --name-only, --name-status, --object-only, --full-name, "
            "--full-tree, --format=, --abbrev[=]"),
    program("merge", "-n, --stat, --summary, --log[=], --squash, --commit, -e --edit, --cleanup=, --ff, "
            f"--ff-only, -s --strategy={STRATEGIES}, -X --strategy-option=, -m --message=, -F --file=, "
            "-v --verbose, -q --quiet, --abort, --quit, --continue, --allow-unrelated-histories, "
            "--progress, --autostash, --signoff, --no-verify, --no-gpg-sign", base="write", negates=True,
            executes="-S --gpg-sign[=], --verify-signatures"),
    program("merge-base", "-a --all, --octopus, --independent, --is-ancestor, --fork-point"),
    program("mv", "-v --verbose, -n --dry-run, -f --force, -k, --sparse", base="write"),
    program("notes", raw=True, reader=read_nested, default="list", commands=[
        program("list"),
        program("show get-ref"),
        program("add append", "-m --message=, -F --file=, -C --reuse-message=, -f --force, --allow-empty",
                base="write"),
        program("copy", "-f --force", base="write"),
        program("remove", "--ignore-missing", base="write"),
    ]),
    program("name-rev", "--name-only, --tags, --refs=, --exclude=, --all, --annotate-stdin, "
            "--undefined, --always", negates=True),
    program("pull", f"{_FETCH}, -r --rebase[=], -n, --stat, --log[=], --signoff[=], --squash, --commit, "
            f"--edit, --cleanup=, --ff, --ff-only, --autostash, -s --strategy={STRATEGIES}, "
            "-X --strategy-option=, --allow-unrelated-histories, -p", base="network", negates=True,
            executes="--upload-pack=, -S --gpg-sign[=], --verify-signatures"),
    program("push", "-v --verbose, -q --quiet, --repo=, --all, --branches, --mirror, -d --delete, --tags, "
            "-n --dry-run, --porcelain, -f --force, --force-with-lease[=], --force-if-includes, --thin, "
            "-u --set-upstream, --progress, --prune, --no-verify, --follow-tags, --atomic, "
            "-o --push-option=, -4 --ipv4, -6 --ipv6", base="network", negates=True,
            executes="--receive-pack=, --exec=, --signed[=]"),
    program("range-diff", f"{_DIFF}, --creation-factor=, --dual-color, --no-dual-color, --left-only, "
            "--right-only, --no-notes", bundles=False, rereads=True, writes="--output=",
            executes="--ext-diff, --textconv"),
    program("rebase", "--onto=, --keep-base, -q --quiet, -v --verbose, -n --no-stat, --signoff, "
            "--committer-date-is-author-date, --reset-author-date, --ignore-date, -C=, --ignore-whitespace, "
            "--whitespace=, -f --force-rebase, --no-ff, --continue, --skip, --abort, --quit, "
            "--show-current-patch, --apply, -m --merge, -i --interactive, --empty=, --autosquash, "
            "--update-refs, --autostash, --allow-empty-message, -r --rebase-merges[=], --fork-point, "
            f"-s --strategy={STRATEGIES}, -X --strategy-option=, --root, --reapply-cherry-picks, --stat, "
            "--keep-empty, --no-verify, --no-gpg-sign, --rerere-autoupdate", base="write", negates=True,
            executes="-x --exec=, -S --gpg-sign[=], --edit-todo"),
    program("remote", "-v --verbose", raw=True, reader=read_nested, commands=[
        program("get-url", "--push, --all"),
        program("show", "-n", base="network"),
        program("update", "-p --prune", base="network"),
        program("prune", "-n --dry-run", base="network"),
        program("add", "-t=, -m=, -f, --tags, --no-tags", base="write"),
        program("rename remove rm", "--progress", base="write"),
        program("set-url", "--push, --add, --delete", base="write"),
        program("set-head", "-a --auto, -d --delete", base="network"),
        program("set-branches", "--add", base="write"),
    ]),
    program("reset", "-q --quiet, --mixed, --soft, --hard, --merge, --keep, -N --intent-to-add, "
            f"--refresh, {_PATHSPECS}", base="write", negates=True),
    program("restore", "-s --source=, -S --staged, -W --worktree, --ignore-unmerged, --overlay, "
            f"-q --quiet, --progress, -m --merge, --conflict=, -2 --ours, -3 --theirs, {_PATHSPECS}",
            base="write", negates=True),
    program("rev-list", f"{_REVISIONS}, -n=, --quiet, --header, --abbrev[=], --no-abbrev, --disk-usage[=], "
            "--timestamp, --stdin, --no-commit-header", bundles=False, rereads=True, numbers=True),
    program("rev-parse", "--abbrev-ref[=], --short[=], --verify, -q --quiet, --symbolic, "
            "--symbolic-full-name, --all, --branches[=], --tags[=], --remotes[=], --glob==, "
            "--exclude==, --is-inside-work-tree, --is-inside-git-dir, --is-bare-repository, "
            "--is-shallow-repository, --show-toplevel, --show-prefix, --show-cdup, "
            "--show-superproject-working-tree, --show-object-format, --git-dir, --git-common-dir, "
            "--absolute-git-dir, --git-path=, --local-env-vars, --since==, --until==, --sq, --revs-only, "
            "--no-revs, --flags, --no-flags, --not, --path-format==, --default=",
            bundles=False, rereads=True),
    program("rm", "-n --dry-run, -q --quiet, --cached, -f --force, -r, --ignore-unmatch, --sparse, "
            f"{_PATHSPECS}", base="write"),
    program("shortlog", f"{_REVISIONS}, -n --numbered, -s --summary, -e --email, -w[=], --group=, "
            "-c --committer, -sn, -ns, -se, -es, -ne, -en, -sne, -sen, -nse, -nes, -esn, -ens",
            bundles=False, rereads=True),
    program("show", _SHOWN, bundles=False, rereads=True, numbers=True, **_UNSAFE_DIFF),
    program("show-branch", "-a --all, -r --remotes, --color[=], --more[=], --list, --no-name, --current, "
            "--sha1-name, --merge-base, --independent, --topo-order, --topics, --sparse, --date-order, "
            "-g[=], --reflog[=]"),
    program("show-ref", "--tags, --heads, --branches, --verify, --head, -d --dereference, -s[=], "
            "--hash[=], --abbrev[=], -q --quiet"),
    program("stash", base="write", raw=True, reader=read_nested, default="push", commands=[
        program("list", _SHOWN, bundles=False, rereads=True, numbers=True, **_UNSAFE_DIFF),
        program("show", f"{_ATTACHED}, --include-untracked, --only-untracked", bundles=False, rereads=True,
                writes="--output==", executes="--ext-diff, --textconv"),
        program("push save", "-k --keep-index, -S --staged, -q --quiet, -u --include-untracked, -a --all, "
                f"-m --message=, {_PATHSPECS}", base="write", negates=True),
        program("pop apply drop", "--index, -q --quiet", base="write"),
        program("clear branch create", base="write"),
    ]),
    program("status", "-v --verbose, -s --short, -b --branch, --show-stash, --ahead-behind, "
            "--porcelain[=], --long, -z --null, -u[=], --untracked-files[=], --ignored[=], "
            "--ignore-submodules[=]all|dirty, --column[=], --renames, -M[=], --find-renames[=]", negates=True,
            reader=read_status),
    program("submodule", "-q --quiet", raw=True, reader=read_nested, default="status", commands=[
        program("status", "-q --quiet, --cached"),
    ]),
    program("switch", "-c --create=, -C --force-create=, --guess, --discard-changes, -q --quiet, "
            "--progress, -m --merge, --conflict=, -d --detach, -t, --track[=], -f --force, --orphan=, "
            "--overwrite-ignore, --ignore-other-worktrees", base="write", negates=True),
    program("symbolic-ref", "-q --quiet, --short, --recurse", writes="-d --delete, -m=", output=1),
    program("tag", "-l --list, -n[=], --column[=], --contains=?, --no-contains=?, --merged=?, "
            "--no-merged=?, --sort=, --points-at=, --format=, --color[=], -i --ignore-case",
            writes="-d --delete, -a --annotate, -m --message=, -F --file=, -e --edit, --cleanup=, "
            "-f --force, --create-reflog", executes="-s --sign, -u --local-user=, -v --verify",
            base="write", negates=True,
            reader=lists_unless_named("-l", "--list", "-n", "--contains", "--merged", "--points-at")),
    program("update-index", "-q, --add, --remove, --refresh, --really-refresh, --chmod=, "
            "--assume-unchanged, --no-assume-unchanged, --skip-worktree, --no-skip-worktree, "
            "--force-remove", base="write"),
    program("version", "--build-options"),
    program("worktree", base="write", raw=True, reader=read_nested, commands=[
        program("list", "--porcelain, -v --verbose, -z"),
        program("add", "-f --force, -b=, -B=, -d --detach, --checkout, --lock, -q --quiet, --track",
                base="write", negates=True),
        program("remove move", "-f --force", base="write"),
        program("prune", "-n --dry-run, -v --verbose, --expire=", base="write"),
        program("lock", "--reason=", base="write"),
        program("unlock", base="write"),
    ]),
    program("write-tree", "--missing-ok", base="write"),
]  # fmt: skip

PROGRAMS = program("git", raw=True, reader=read_git, commands=_SUB_COMMANDS)
