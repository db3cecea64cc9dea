# Environment variables can set options. An option on the command line overrides its variable. A run inside another run
# does not use the ROWLOCK_HOLDER of the outer run.
set -eu

export ROWLOCK_HOLDER=somebody ROWLOCK_NOTE=because ROWLOCK_NAMESPACE=space
test "$(rowlock run job -- sh -c 'echo $ROWLOCK_HOLDER')" = somebody
test "$(rowlock run job --holder else -- sh -c 'echo $ROWLOCK_HOLDER')" = else
rowlock run job -- rowlock run inner -- sh -c 'echo $ROWLOCK_HOLDER' | grep -q '^sh@'
unset ROWLOCK_HOLDER ROWLOCK_NOTE ROWLOCK_NAMESPACE
case ${ROWLOCK_STORE:-} in
postgres-advisory* | etcd:* | zk:*) ;; # these stores store nothing about a free lock
*)
	rowlock ls -A --all | grep -Eq '^space +job +free +somebody .* because$'
	rowlock status job | grep -q 'never held'
	;;
esac

ROWLOCK_LOG_FORMAT=json rowlock run job -- true 2>err
grep -q '"event":"acquired"' err
ROWLOCK_QUIET=true ROWLOCK_LOG_FORMAT=json rowlock run job -- true 2>err
test ! -s err
