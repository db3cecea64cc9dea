# rowlock forwards signals to the command and the processes that it started, which may handle them as they like. The
# lock is released as soon as they have ended.
set -eu
mkfifo outer inner block

for signal in TERM HUP USR1 USR2; do
	rowlock run job -- sh -c "(trap 'echo $signal >got; exit' $signal; echo >inner; read _ <block) & trap 'wait; exit 5' $signal; echo >outer; wait" &
	rowlock=$!
	read _ <inner
	read _ <outer
	kill -$signal $rowlock
	code=0; wait $rowlock || code=$?
	test $code = 5
	test "$(cat got)" = $signal
	rowlock run job -- true
done
