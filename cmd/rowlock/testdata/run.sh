# The command gets its arguments, stdin, stdout and stderr unchanged. rowlock exits with the command's exit code,
# and writes no messages.
set -eu

rowlock run hello -- echo hi >out 2>err
test "$(cat out)" = hi
test ! -s err

rowlock run hello --ttl 15s -- printf '<%s>' 'a b' '*' '$HOME' -- --ttl '' >out
test "$(cat out)" = '<a b><*><$HOME><--><--ttl><>'

printf 'from stdin' | rowlock run hello -- cat >out
test "$(cat out)" = 'from stdin'

rowlock run hello -- sh -c 'echo mine >&2' 2>err
test "$(cat err)" = mine

code=0; rowlock run hello -- sh -c 'exit 7' || code=$?
test $code = 7

# The command also inherits other open files of rowlock.
rowlock run hello -- sh -c 'echo third >&3' 3>out
test "$(cat out)" = third
