# When nobody reads stderr any more, rowlock goes on with its work: it does not leave the command
# alone for a message that it cannot write, and the exit code is the one that is documented.
set -eu
mkfifo started block messages

(code=0; rowlock run job --ttl 6s -- sh -c 'echo $$ >started; read _ <block' 2>messages || code=$?; echo $code >lost) &
holder=$!
: <messages # opened, and closed again
read command <started

token=$(rowlock status job --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')
rowlock release job --live --token "$token"
wait $holder
test "$(cat lost)" = 79
! kill -0 "$command" 2>/dev/null || exit 1

# The command itself does not inherit that.
code=0; rowlock run job -- sh -c "kill -PIPE \$\$" || code=$?
test $code = 141

# The last message is one, too.
(code=0; rowlock run job --store sqlite:nowhere/locks.db -- touch never 2>messages || code=$?; echo $code >unavailable) &
: <messages
wait $!
test "$(cat unavailable)" = 69
