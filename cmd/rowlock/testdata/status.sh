# The exit code of status says whether the lock is free. ls lists locks that are not free. Both subcommands can write
# JSON.
set -eu
mkfifo started block messages

test "$(rowlock status job)" = '"job" is free, and was never held'
rowlock run job --holder me --note 'why not' -- sh -c 'echo >started; read _ <block' &
rowlock=$!
read _ <started

code=0; rowlock status job >out || code=$?
test $code = 75
grep -Eq '^"job" is held by me for [0-9.]+m?s, lease ends in [0-9]+s unless renewed \(token [0-9]+\): why not$' out
code=0; rowlock status job --json >out || code=$?
test $code = 75
grep -q '"state": "held"' out
rowlock status other >out
rowlock status job --namespace other >out

rowlock ls >out
head -n 1 out | grep -Eq '^NAME +STATE +HOLDER +AGE +EXPIRES IN +TOKEN +NOTE$'
grep -Eq '^job +held +me +[0-9.]+m?s +[0-9]+s +[0-9]+ +why not$' out
rowlock ls --json | grep -q '"name": "job"'
test "$(rowlock ls --json --namespace other)" = '[]'
rowlock ls -A --namespace other | grep -Eq '^- +job +held'

# A process that waits is counted, but not on Redlock. Without a waiter, ls has no such column.
rowlock run job --wait=inf -- true 2>messages &
waiter=$!
read line <messages
tries=0
case $ROWLOCK_STORE in redlock:*) ;; *)
until rowlock status job >out || grep -Eq ' unless renewed, 1 process waits \(token [0-9]+\): why not$' out; do
	tries=$((tries + 1))
	test $tries -lt 200
done
rowlock ls >out
head -n 1 out | grep -Eq ' TOKEN +WAITERS +NOTE$'
grep -Eq '^job +held +me +[0-9.]+m?s +[0-9]+s +[0-9]+ +1 +why not$' out
rowlock ls --json | grep -q '"waiters": 1$'
esac

echo >block
wait $rowlock
wait $waiter
rowlock run job --holder me -- true
rowlock status job | grep -q '^"job" is free, last held by me, granted '
test "$(rowlock ls --json)" = '[]'
rowlock ls --all | grep -Eq '^job +free +me '

# A lock name with special characters does not break the layout of the table.
rowlock run "$(printf 'two\nlines')" -- rowlock ls | grep -Fq '"two\nlines"  held'
