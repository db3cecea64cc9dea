# rowlock holds the lock until all processes that the command left behind have ended. It stops these processes after the
# grace period. The exit code is that of the command.
set -eu
mkfifo started block deaf

rowlock run job --grace 60s -- sh -c '(echo >started; read _ <block; echo ended >flushed) & exit 3' 2>err &
rowlock=$!
read _ <started
code=0; rowlock run job -- touch never 2>/dev/null || code=$?
test $code = 75
echo >block
code=0; wait $rowlock || code=$?
test $code = 3
test "$(cat flushed)" = ended
test ! -s err

rowlock run job --grace 100ms -- sh -c '(trap "" TERM; echo >started; echo >deaf; while :; do read _ <block; done) & read _ <deaf; exit 3' 2>err &
rowlock=$!
read _ <started
code=0; wait $rowlock || code=$?
test $code = 3
grep -q 'the command has ended and left processes behind; stopping them' err
grep -q 'killing' err
rowlock run job -- true
