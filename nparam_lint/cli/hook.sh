#!/bin/sh
# The nparam-lint hook: checks the parameter counts of what is about to be committed.
# `nparam-lint install-hook` writes this file and overwrites it: put nothing of your own here.

python=''   # the interpreter that nparam-lint was installed with
projects='' # the directories to check, one per line; empty: the whole repository

# The user's files are in the current directory: nothing may be imported from there.
start='import sys; sys.path[:] = filter(None, sys.path)'

has_it() {
    "$1" -c "$start; import nparam_lint" 2>/dev/null
}

set --
if [ -n "$python" ] && has_it "$python"; then
    set -- "$python" -c "$start; from nparam_lint.cli import main; sys.exit(main())"
fi
main=$(git rev-parse --git-common-dir)/..
for place in . "$main"; do
    for folder in .venv/bin venv/bin .venv/Scripts venv/Scripts; do
        if [ $# -eq 0 ] && [ -x "$place/$folder/nparam-lint" ]; then
            set -- "$place/$folder/nparam-lint"
        fi
    done
done
if [ $# -eq 0 ] && command -v nparam-lint >/dev/null; then
    set -- nparam-lint
fi
if [ $# -eq 0 ] && has_it python3; then
    set -- python3 -c "$start; from nparam_lint.cli import main; sys.exit(main())"
fi
if [ $# -eq 0 ]; then
    cat >&2 <<END
nparam-lint was not found: the parameter counts of this commit cannot be checked.
looked in: ${python:+$python, }.venv and venv of $PWD and of its main worktree, PATH, python3
next: pip install nparam-lint in one of these; or, in the environment that has it, nparam-lint install-hook
END
    exit 1
fi

if [ -z "$projects" ]; then
    exec "$@" check --declared --staged
fi
status=0
while IFS= read -r project; do
    "$@" check --declared --staged "$project" </dev/null || status=$?
done <<END
$projects
END
exit $status
