# rowlock keeps the lock while processes that the command left behind are alive. They may end within the grace period,
# and are stopped after it. The exit code is the command's own.
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

rowlock run job --grace 100ms -- sh -c '(trap "" TERM; echo >deaf; echo >started; while :; do read _ <block; done) & read _ <deaf; exit 3' 2>err &
rowlock=$!
read _ <started
code=0; wait $rowlock || code=$?
test $code = 3
grep -q 'the command has ended and left processes behind; stopping them' err
grep -q 'killing' err
rowlock run job -- true
