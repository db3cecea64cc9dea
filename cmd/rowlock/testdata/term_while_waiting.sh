# TERM ends rowlock while it waits for the lock. The command never starts, and no request is left that could still
# acquire the lock.
set -eu
mkfifo started block messages

rowlock run job -- sh -c 'echo >started; read _ <block' &
first=$!
read _ <started

rowlock run job --wait=inf -- touch never 2>messages &
second=$!
exec 3<messages
read line <&3
case $line in 'rowlock: waiting: "job" is held by '*) ;; *) echo "$line"; exit 1 ;; esac

kill -USR1 $second # no command runs yet, so rowlock ignores USR1 and continues to wait
kill -TERM $second
code=0; wait $second || code=$?
test $code = 143
test ! -e never
read line <&3
test "$line" = 'rowlock: terminated while waiting for "job": the command was not started'

echo >block
wait $first
rowlock run job --wait=5s -- true # waits, because a release may have reserved the lock for the dead waiter for 50 ms
