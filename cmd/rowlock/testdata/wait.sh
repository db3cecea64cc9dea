# wait returns when a lock is free, and does not acquire the lock. After --timeout it says who holds the lock.
set -eu
mkfifo started block messages

rowlock wait job >out 2>err
test ! -s out -a ! -s err
rowlock run job -- sh -c 'echo >started; read _ <block' &
holder=$!
read _ <started
code=0; rowlock wait job --timeout=0 >out 2>err || code=$?
test $code = 75
test ! -s out
grep -q '^rowlock: "job" is held by ' err
test "$(wc -l <err)" -eq 1
code=0; rowlock wait job --timeout=50ms --json >out 2>/dev/null || code=$?
test $code = 75
grep -q '"state": "held"' out
rowlock wait other

rowlock wait job 2>messages &
waiter=$!
read line <messages
case $line in 'rowlock: waiting: "job" is held by '*) ;; *) echo "$line"; exit 1 ;; esac
echo >block
wait $holder
wait $waiter
rowlock run job -- true
