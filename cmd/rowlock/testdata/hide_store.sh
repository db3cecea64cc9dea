# --hide-store removes ROWLOCK_STORE, which may contain a password, from the command's environment. Without
# --hide-store, a run inside the command uses the same store.
set -eu

rowlock run job -- env >out
grep -q '^ROWLOCK_STORE=' out
rowlock run job --hide-store -- env >out
! grep -q '^ROWLOCK_STORE=' out || exit 1
grep -q '^ROWLOCK_NAME=job$' out
