# When rowlock itself is killed, its session lock is free at once, whatever the TTL is, and its command is killed.
set -eu
mkfifo started block alive
cat alive &

rowlock run job --ttl 1h -- sh -c 'exec 9>alive; echo >started; read _ <block' &
rowlock=$!
read _ <started
code=0; rowlock run job -- true 2>/dev/null || code=$?
test $code = 75
kill -9 $rowlock
wait $rowlock || true
rowlock run job --wait 60s -- true 2>/dev/null
wait
