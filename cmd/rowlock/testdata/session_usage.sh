# With an option that a session lock cannot implement, rowlock exits with 64, and writes one sentence.
# The fence subcommands work as on other stores.
set -eu

refused() {
	want=$1
	shift
	code=0; rowlock "$@" >out 2>err || code=$?
	if test $code != 64 || ! grep -Fqe "$want" err || test -s out; then
		echo "rowlock $*: $code"
		cat err
		exit 1
	fi
}
refused '--min-hold: a lock of ' run job --min-hold 1s -- touch never
refused '--handover-delay: a lock of ' run job --handover-delay 1s -- touch never
case $ROWLOCK_STORE in
mysql-getlock*) refused 'grants no shared locks: keep the lock as a lease row (--store ' run job --shared -- touch never ;;
esac
refused '--once: the store ' run job --once=2026-11-23 -- touch never
refused 'cannot record that a tick is done: keep the lock as a lease row (--store ' run job --once-per=1h -- touch never
refused 'a demonstration needs leases that expire' demo --store "$ROWLOCK_STORE"
refused 'a demonstration needs leases that expire' demo stock --store "$ROWLOCK_STORE"
grep -q 'use lease rows (--store [a-z]*://' err
refused 'ends with its connection, so nothing can be paused: keep the lock as a lease row (--store ' pause job --reason why
refused 'ends with its connection, so nothing can be paused' resume job
test ! -e never

test "$(rowlock fence ls)" = 'RESOURCE  TOKEN  AGE  RESETS  DOMAIN'
code=0; rowlock fence reset job --token 7 2>err || code=$?
test $code = 1
rowlock fence prune --unused 30d
