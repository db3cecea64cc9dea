# A command inherits the lease of its run. The run seals the resources of --fence first, and does not start the command
# if that fails. check and sql check succeed only for a run that still has its lock and has sealed last.
set -eu
case $ROWLOCK_STORE in
redis* | redlock* | etcd* | zk*)
	code=0; rowlock run job --fence=r -- touch never 2>err || code=$?
	test $code = 64
	grep -q 'name that database with --data' err
	export ROWLOCK_DATA=sqlite:data.db
	;;
esac

rowlock run job --fence=r,job -- sh -euc '
	test "$ROWLOCK_NAME" = job
	rowlock check
	rowlock check r job
	code=0; rowlock check r other 2>err || code=$?
	test $code = 79
	grep -q "\"other\" was never sealed by this run: name it in the option --fence of rowlock run" err
	rowlock sql check r >statements
	printenv ROWLOCK_LEASE >lease'
! grep -q 'has failed' statements
test "$(wc -l <lease)" = 1

# The lease of a run that has ended is lost.
inherited() {
	code=0; ROWLOCK_LEASE=$1 rowlock check r >out 2>err || code=$?
	test $code = "$2"
	code=0; ROWLOCK_LEASE=$1 rowlock sql check r >out 2>err || code=$?
	test $code = "$2"
	test "$(cat out)" = 'rowlock sql check has failed;'
	grep -q "$3" err
}
inherited "$(cat lease)" 79 'lost "job"'
inherited '' 64 'ROWLOCK_LEASE is not set'
inherited '{}' 64 'ROWLOCK_LEASE: version: 0'
inherited "$(sed 's/"token":"/&x/' lease)" 64 'ROWLOCK_LEASE: token: '
inherited "$(sed 's/"nonce":"/&x/' lease)" 64 'ROWLOCK_LEASE: nonce: '

# A run that has not sealed is refused. The command of a nested run inherits the lease of the inner run.
rowlock run job -- sh -euc '
	code=0; rowlock check r 2>err || code=$?
	test $code = 79
	grep -q "rowlock: fence: stale" err'
rowlock run job -- rowlock run inner -- printenv ROWLOCK_LEASE | grep -q '"name":"inner"'

# Another lock cannot seal the resource, and its command is not started. It is the same if the table is missing.
code=0; rowlock run other --fence=r -- touch never 2>err || code=$?
test $code = 69
grep -q 'the command was not started: fence: ' err || { cat err; exit 1; }
grep -q 'cannot be compared' err
code=0; rowlock run other --fence=r --data=sqlite:/no/such/folder/data.db -- touch never 2>err || code=$?
test $code = 69
test ! -e never
rowlock run other -- true # its lock was released

refused() {
	code=0; rowlock run job "$@" -- touch never 2>err || code=$?
	test $code = 64 || { cat err; exit 1; }
}
refused --fence=
grep -q -- '--fence: name the resources to seal, for example --fence=job' err
refused --fence=a,,b
grep -q -- '--fence: the name of a resource is empty' err
unset ROWLOCK_DATA
refused --data=sqlite:data.db
grep -q -- 'add --fence=RESOURCE' err
refused --fence=r --data=redis://127.0.0.1:1
grep -q -- '--data: the fence needs the SQL database of the data' err
refused --fence=r --data=nothing
grep -q -- '--data: ' err
code=0; rowlock sql 2>err || code=$?
test $code = 64
