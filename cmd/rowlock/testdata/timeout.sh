# After --timeout rowlock stops the command and all processes that it has started, and exits with a separate code.
set -eu
mkfifo started block

rowlock run job --timeout 8s -- sh -c 'trap "exit 0" TERM; sh -c "echo \$\$ >started; read _ <block" & wait' 2>err &
rowlock=$!
read grandchild <started
code=0; wait $rowlock || code=$?
test $code = 124
! kill -0 "$grandchild" 2>/dev/null || exit 1
grep -q 'stopping the command after 8s' err
rowlock run job -- true
