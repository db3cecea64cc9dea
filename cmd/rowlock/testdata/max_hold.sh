# After --max-hold the lock is lost, and rowlock stops the command.
set -eu
mkfifo block

code=0; rowlock run job --max-hold 2s -- sh -c 'read _ <block' 2>err || code=$?
test $code = 79
grep -q 'the maximum hold is over; stopping the command' err
