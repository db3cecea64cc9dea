# When rowlock itself is killed with KILL, the command and all processes of its group are killed at once.
# So none of them is alive when another process acquires the lock: a lease is free after its TTL, and a session lock is
# free at once.
set -eu
mkfifo started block alive
# The reader of the pipe ends when no process of the group has the pipe open.
(cat alive && touch ended) &

rowlock run job --ttl ${TTL:-15s} -- sh -c 'exec 9>alive; sh -c "echo >started; read _ <block" & sleep 302 & read _ <block' &
rowlock=$!
read _ <started
kill -9 $rowlock
wait $rowlock || true
rowlock run job --wait 60s -- sh -c "test -e ended || touch overlap" 2>/dev/null
wait
case $ROWLOCK_STORE in
mysql-getlock:* | postgres-advisory:*) ;; # the lock ends with its connection, at the moment of the kill
*) test ! -e overlap ;;
esac
