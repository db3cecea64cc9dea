# When TERM ends a demonstration, its table and its file are removed. So the next demonstration starts from the
# beginning.
set -eu
mkdir temporary
TMPDIR=$PWD/temporary
export TMPDIR
mkfifo story

code=0
while test $code = 0; do # on a slow machine, the demonstration may end before it gets the signal
	rowlock demo ${ROWLOCK_STORE:+--store "$ROWLOCK_STORE"} >story 2>err &
	demo=$!
	exec 3<story
	line=
	until case $line in *'is suspended'*) true ;; *) false ;; esac; do read -r line <&3; done
	kill -TERM $demo || :
	wait $demo || code=$?
done
test $code = 143
test "$(cat err)" = 'rowlock: terminated: the demonstration was stopped'
test -z "$(ls temporary)"

rowlock demo ${ROWLOCK_STORE:+--store "$ROWLOCK_STORE"} >out 2>err
test "$(tail -n 1 out)" = 'The balance is 120, as it should be: 100 - 30 + 50 = 120.'
test ! -s err
test -z "$(ls temporary)"
