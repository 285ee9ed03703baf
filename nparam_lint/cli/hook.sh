#!/bin/sh
# The nparam-lint hook: checks the parameter counts of what is about to be committed. As pre-push it
# checks what is pushed, and as post-rewrite what a rebase has made.
# `nparam-lint install-hook` writes this file and overwrites it: put nothing of your own here.

python='' # the interpreter that nparam-lint was installed with
models_python='' # the interpreter that builds the models: `install-hook --python`
hook=${0##*/} rewritten_by=$1

if [ -n "$models_python" ]; then
    export NPARAM_LINT_PYTHON="${NPARAM_LINT_PYTHON:-$models_python}"
fi

# The user's files are in the current directory: nothing may be imported from there.
start='import sys; sys.path[:] = filter(None, sys.path)'

has_it() {
    "$1" -c "$start; import nparam_lint" 2>/dev/null
}

run="$start
try:
    from nparam_lint.cli import main
except ImportError:
    sys.exit(127)
sys.exit(main())"

set --
case $hook in
pre-push | post-rewrite)
    if [ -n "$python" ] && has_it "$python"; then
        set -- "$python" -c "$run"
    fi
    ;;
*) # not asked first whether it has nparam-lint: that takes as long as a check
    if command -v "$python" >/dev/null; then
        "$python" -c "$run" check --declared --staged
        status=$?
        [ $status -eq 127 ] || exit $status
    fi
    ;;
esac
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
    set -- python3 -c "$run"
fi
if [ $# -eq 0 ]; then
    cat >&2 <<END
nparam-lint was not found: the parameter counts of this commit cannot be checked.
looked in: ${python:+$python, }.venv and venv of $PWD and of its main worktree, PATH, python3
next: pip install nparam-lint in one of these; or, in the environment that has it, nparam-lint install-hook
END
    exit 1
fi

# Of one commit, as it was made; the variable is the one of the pre-commit framework.
check_commit() {
    commit=$1
    shift
    PRE_COMMIT_TO_REF=$commit "$@" check --declared --staged </dev/null
}

status=0
case $hook in
pre-push)
    while read -r _ commit _; do # one line for each branch and tag; what is deleted has no commit
        if git rev-parse --quiet --verify "$commit^{commit}" >/dev/null; then
            check_commit "$commit" "$@" || status=$?
        fi
    done
    ;;
post-rewrite)
    if [ "$rewritten_by" != amend ]; then # which runs pre-commit
        echo      # behind git's "Rebasing (1/1)"
        check_commit HEAD "$@" || status=$?
        if [ $status -ne 0 ]; then
            echo "nparam-lint: git has made these commits already, and ran no other hook" >&2
            echo "next: correct the model or the budget, and commit that" >&2
            echo "      to undo the rebase instead: git reset --keep ORIG_HEAD" >&2
        fi
    fi
    ;;
*) exec "$@" check --declared --staged ;;
esac
exit $status
