# If another run holds the lock, --on-conflict decides what a run does.
set -eu
mkfifo started block messages

rowlock run job --note 'month end' -- sh -c 'echo >started; read _ <block' &
first=$!
read _ <started

# By default the run fails, and writes one sentence.
code=0; rowlock run job -- touch never 2>err || code=$?
test $code = 75
grep -q '^rowlock: "job" is held by ' err
test "$(wc -l <err)" -eq 1

code=0; rowlock run job -E 9 -- touch never 2>/dev/null || code=$?
test $code = 9
code=0; rowlock run job --on-conflict=fail --wait=5s -E 9 -- touch never 2>err || code=$?
test $code = 9
grep -Eq 'waited [0-9]' err

# With --on-conflict=skip the run exits with 0 and writes a message. With --quiet it writes none.
rowlock run job --on-conflict=skip -- touch never 2>err
grep -q '^rowlock: skipped: "job" is held by' err
rowlock run job -q --on-conflict=skip -- touch never 2>err
test ! -s err
rowlock run job --on-conflict=skip --wait=100ms -- touch never 2>/dev/null
test ! -e never

# Another name, or the same name in another namespace, is another lock.
rowlock run other -- true
rowlock run job --namespace other -- true

# With --on-conflict=wait the run acquires the lock when the lock becomes free.
rowlock run job --on-conflict=wait -- touch done 2>messages &
second=$!
read line <messages
test ! -e done
echo >block
wait $first
wait $second
test -e done
