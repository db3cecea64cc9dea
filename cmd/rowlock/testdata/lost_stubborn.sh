# A command that ignores TERM is killed after the grace period, and so are the processes that it started.
set -eu
mkfifo started block

rowlock run job --ttl ${TTL:-15s} --grace 200ms -- sh -c 'trap "" TERM; sh -c "echo \$\$ >started; read _ <block" & while :; do wait; read _ <block; done' 2>err &
rowlock=$!
read grandchild <started

token=$(rowlock status job --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')
rowlock release job --live --token "$token"

code=0; wait $rowlock || code=$?
test $code = 79
! kill -0 "$grandchild" 2>/dev/null || exit 1
grep -q 'still running 200ms after TERM; killing' err
