#!/bin/sh
# Prints the changes of the exported API since a commit that break programs: api.sh BASE. Exits with 1 if there are any.
set -eu
base=$1
root=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'git -C "$root" worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"
apidiff() { go tool -modfile="$root/internal/tools/go.mod" apidiff -m "$@"; }
(cd "$work/base" && apidiff -w "$work/base.export" github.com/rowlock/rowlock)
apidiff -incompatible "$work/base.export" github.com/rowlock/rowlock >"$work/changes" 2>"$work/errors" || { cat "$work/errors" >&2; exit 2; }
if [ -s "$work/changes" ]; then
	echo "incompatible changes since $base:"
	cat "$work/changes"
	exit 1
fi
echo "no incompatible change since $base"
