# If the reader of stderr has ended, rowlock cannot write messages. It still supervises the command,
# and exits with the documented code.
set -eu
mkfifo started block messages

(code=0; rowlock run job --ttl ${TTL:-15s} -- sh -c 'echo $$ >started; read _ <block' 2>messages || code=$?; echo $code >lost) &
holder=$!
: <messages # opens the FIFO and closes it again
read command <started

token=$(rowlock status job --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')
rowlock release job --live --token "$token"
wait $holder
test "$(cat lost)" = 79
! kill -0 "$command" 2>/dev/null || exit 1

# The command does not inherit the handling of SIGPIPE: SIGPIPE ends the command as usual.
code=0; rowlock run job -- sh -c "kill -PIPE \$\$" || code=$?
test $code = 141

# rowlock exits with the right code even if it cannot write its last message.
(code=0; rowlock run job --store sqlite:nowhere/locks.db -- touch never 2>messages || code=$?; echo $code >unavailable) &
: <messages
wait $!
test "$(cat unavailable)" = 69
