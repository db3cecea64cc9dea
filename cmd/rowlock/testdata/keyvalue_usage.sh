# On a store without tables, a subcommand that needs tables exits with 64, writes one sentence, and changes nothing.
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
for command in up down status print; do
	refused 'keeps locks without tables: there is nothing to migrate, and nothing is needed before the first lock' migrate $command
done
rowlock migrate print --dialect postgres | grep -q 'CREATE TABLE'
refused 'the marks of the fence are in the SQL database' fence ls
refused 'the marks of the fence are in the SQL database' fence reset --all
refused 'the marks of the fence are in the SQL database' fence prune --unused 30d
refused 'keeps no history: the history needs a table' history job
refused 'a demonstration needs a table beside the locks' demo --store "$ROWLOCK_STORE"
refused 'a demonstration needs a table beside the locks' demo stock --store "$ROWLOCK_STORE"
case $ROWLOCK_STORE in
redlock:*) refused 'cannot record that a tick is done: keep the lock as a lease row (--store postgres://' run job --once=2026-11-23 -- touch never 
	refused 'grants no shared locks: keep the lock as a lease row (--store postgres://' run job --shared -- touch never
	;;
esac
refused '--table: ' run job --table mine -- touch never
refused '--table: ' ls --table mine
case $ROWLOCK_STORE in
zk:*) refused 'zk:// has no options' ls --store "$ROWLOCK_STORE?bogus=1" ;;
*)
	refused 'after the ? are prefix=…' ls --store "$ROWLOCK_STORE&bogus=1"
	refused 'after the ? are prefix=…' ls --store "$ROWLOCK_STORE&prefix=second"
	;;
esac
case $ROWLOCK_STORE in
redlock:*)
	refused 'redlock:// grants leases of at most 1m0s: write max_ttl=… in --store' run job --ttl 61s -- touch never
	refused 'the servers of this store may forget a pause, so nothing can be paused' pause job --reason why
	refused 'the servers of this store may forget a pause, so nothing can be paused' resume job
	;;
esac
test ! -e never
test "$(rowlock ls --all --json)" = '[]'
