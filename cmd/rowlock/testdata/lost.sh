# When the lock is lost, the command and all processes that it started are dead before rowlock ends. The exit code says
# that the lock was lost.
set -eu
mkfifo started block

rowlock run job --ttl ${TTL:-15s} -- sh -c 'sh -c "echo \$\$ \$ROWLOCK_TOKEN >started; read _ <block" & wait' 2>err &
rowlock=$!
read grandchild token <started
kill -0 "$grandchild"

seen=$(rowlock status job --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')
rowlock release job --live --token "$seen"

code=0; wait $rowlock || code=$?
test $code = 79
! kill -0 "$grandchild" 2>/dev/null || exit 1
grep -q '^rowlock: lost "job" (token '"$token"'): .*; stopping the command$' err
rowlock status job
