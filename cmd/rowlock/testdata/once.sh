# With --once=TICK the command runs only if no run has succeeded for that tick.
set -eu

rowlock run nightly --once=2026-11-23 -- sh -c 'echo "$ROWLOCK_TICK" >>ran'
code=0; rowlock run nightly --once=2026-11-23 -- touch never 2>err || code=$?
test $code = 80
grep -Fqx 'rowlock: the tick is done: "nightly": tick "2026-11-23", last done "2026-11-23"' err
rowlock run nightly --once=2026-11-23 --on-conflict=skip -- touch never 2>err
grep -Fq 'skipped: ' err
test ! -e never
rowlock run nightly -- true # a run without a tick does not change the recorded tick
code=0; rowlock run nightly --once=2026-11-23 -- touch never 2>err || code=$?
test $code = 80
test "$(cat ran)" = 2026-11-23

# status shows the tick that was done last.
rowlock status nightly >out
grep -Eq '^"nightly" is free.*, tick "2026-11-23" is done( \(token [0-9]+\))?$' out
rowlock status nightly --json | grep -q '"done": "2026-11-23",$'

# A run that fails leaves the tick open. So does a run that is killed.
code=0; rowlock run nightly --once=2026-11-24 -- sh -c 'exit 7' || code=$?
test $code = 7
code=0; rowlock run nightly --once=2026-11-24 --ttl=15s -- sh -c 'kill -KILL $PPID; sleep 60' || code=$?
test $code = 137
# An operator ends the lease of the run that was killed, so that the script does not wait for the TTL.
rowlock release nightly --live --token "$(rowlock status nightly --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')"
rowlock run nightly --once=2026-11-24 --on-conflict=wait -- sh -c 'echo "$ROWLOCK_TICK" >>ran'
test "$(tail -n 1 ran)" = 2026-11-24

# A run that waits for the lock finds the tick done.
mkfifo started block messages
rowlock run nightly --once=2026-11-25 -- sh -c 'echo >started; read _ <block' &
first=$!
read _ <started
code=0; rowlock run nightly --once=2026-11-25 -- touch never 2>err || code=$?
test $code = 75 # without waiting it is not known whether the tick will be done
rowlock run nightly --once=2026-11-25 --on-conflict=wait -- touch never 2>messages &
second=$!
exec 3<messages
read line <&3
case $line in 'rowlock: waiting: "nightly"'*) ;; *) echo "$line"; exit 1 ;; esac
echo >block
wait $first
code=0; wait $second || code=$?
test $code = 80
exec 3<&-
test ! -e never

# --once-per rounds the present time down. Earlier times are done when a later one is.
rowlock run hourly --once-per=1h -- sh -c 'echo "$ROWLOCK_TICK" >tick'
grep -Eqx '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:00:00Z' tick
code=0; rowlock run hourly --once=2001-01-01T00:00:00Z -- touch never 2>err || code=$?
test $code = 80

# --dry-run says whether the tick is done.
rowlock run nightly --once=2026-11-25 --dry-run -- true >out
grep -Fqx 'tick:     "2026-11-25"; last done: "2026-11-25"' out
grep -Fqx 'then:     exit with code 80, without starting the command' out
rowlock run nightly --once=2026-11-26 --dry-run -- true >out
grep -Fqx 'then:     the command would start' out

# An inner run does not inherit the tick of the outer one.
rowlock run outer --once=x -- rowlock run inner -- sh -c 'test -z "${ROWLOCK_TICK-}"'

code=0; rowlock run nightly --once=x --once-per=1h -- true 2>err || code=$?
test $code = 64
code=0; rowlock run nightly --once=x --slots=2 -- true 2>err || code=$?
test $code = 64
