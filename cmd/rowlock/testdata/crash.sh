# When rowlock itself is killed, the lock is free after its TTL.
set -eu
mkfifo started block

rowlock run job --ttl 5s -- sh -c 'echo $$ >started; read _ <block' &
rowlock=$!
read command <started
kill -9 $rowlock
wait $rowlock || true
kill "$command"
rowlock run job --wait 20s -- true 2>/dev/null
