# If a signal kills the command, rowlock exits with 128 plus the signal's number, even if rowlock itself forwarded the
# signal.
set -eu
mkfifo started block

code=0; rowlock run job -- sh -c 'kill -9 $$' 2>err || code=$?
test $code = 137
test ! -s err

rowlock run job -- sh -c 'echo >started; read _ <block' &
rowlock=$!
read _ <started
kill -TERM $rowlock
code=0; wait $rowlock || code=$?
test $code = 143
