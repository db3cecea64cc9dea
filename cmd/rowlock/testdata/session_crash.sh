# When rowlock itself is killed, a lock of its session is free at once, whatever the TTL, and also while
# its command still runs: that has not inherited the connection.
set -eu
mkfifo started block

rowlock run job --ttl 1h -- sh -c 'echo $$ >started; read _ <block' &
rowlock=$!
read command <started
code=0; rowlock run job -- true 2>/dev/null || code=$?
test $code = 75
kill -9 $rowlock
wait $rowlock || true
rowlock run job --wait 10s -- true 2>/dev/null
kill -0 "$command"
kill "$command"
