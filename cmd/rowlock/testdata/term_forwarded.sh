# rowlock forwards signals to the command and to the processes that the command has started. These processes may catch
# the signals. rowlock releases the lock as soon as all of them have ended.
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
