# When rowlock itself is killed with KILL, its command and all that this has started in its group are killed at once, so
# that none of them is left when the lock is granted to another: after the TTL of a lease, and at once for a session.
set -eu
mkfifo started block alive
# What reads the pipe comes to its end when nobody of the group has it open any more.
(cat alive && touch ended) &

rowlock run job --ttl 6s -- sh -c 'exec 9>alive; sh -c "echo >started; read _ <block" & sleep 302 & read _ <block' &
rowlock=$!
read _ <started
kill -9 $rowlock
wait $rowlock || true
rowlock run job --wait 30s -- sh -c "test -e ended || touch overlap" 2>/dev/null
wait
case $ROWLOCK_STORE in
mysql-getlock:* | postgres-advisory:*) ;; # the lock ends with the connection, and so in the same moment
*) test ! -e overlap ;;
esac
