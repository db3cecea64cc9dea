# With --slots=N up to N commands run at the same time. Each command holds its own slot, which is a separate lock.
set -eu
mkfifo a b block0 block1 messages

hold='echo "$ROWLOCK_SLOT $ROWLOCK_NAME" >$fifo; read _ <block$ROWLOCK_SLOT; echo >"left$ROWLOCK_SLOT"'
fifo=a rowlock run gpu --slots=2 -- sh -c "$hold" &
first=$!
read one name1 <a
fifo=b rowlock run gpu --slots=2 -- sh -c "$hold" &
second=$!
read two name2 <b
test "$one" != "$two"
test "$name1" = "gpu/$one"
test "$name2" = "gpu/$two"

# A third run is refused, or waits at most for --wait, or gets the slot that becomes free first.
code=0; rowlock run gpu --slots=2 -- touch never 2>err || code=$?
test $code = 75
grep -Eq '^rowlock: "gpu/[01]" is held by ' err
code=0; rowlock run gpu --slots=2 --wait=200ms -E 9 -- touch never 2>err || code=$?
test $code = 9
rowlock run gpu --slots=2 --on-conflict=skip -- touch never 2>err
test ! -e never
rowlock run gpu --slots=2 --dry-run -- true >out
grep -Fqx 'then:     exit with code 75, without starting the command' out
rowlock run gpu --slots=3 -- sh -c 'test $ROWLOCK_SLOT = 2' # a third slot is free
rowlock run gpu --slots=2 --on-conflict=wait -- sh -c 'echo $ROWLOCK_SLOT >third' 2>messages &
third=$!
read line <messages
case $line in 'rowlock: waiting: "gpu/'*) ;; *) echo "$line"; exit 1 ;; esac
test ! -e third
echo >"block$two"
wait $second
wait $third
test "$(cat third)" = "$two"
test ! -e "left$one"
rowlock run gpu --slots=2 --dry-run -- true >out
grep -Fqx "lock:     \"gpu/$two\"" out
grep -Fqx 'then:     the command would start' out
echo >"block$one"
wait $first

# Inside a command that holds a slot, another run for a slot of the same lock is refused, even if a slot is free.
code=0; rowlock run gpu --slots=2 -- rowlock run gpu --slots=2 -- touch never 2>err || code=$?
test $code = 64
grep -q 'this wait might never end' err
test ! -e never

# ROWLOCK_SLOT is the slot of the innermost run. It is not set if that run has no slots.
rowlock run gpu --slots=2 -- rowlock run other -- sh -c 'test -z "${ROWLOCK_SLOT-}" && test -n "$ROWLOCK_NAME"'

for wrong in -1 65; do
	code=0; rowlock run gpu --slots=$wrong -- true 2>err || code=$?
	test $code = 64
	grep -q -- "--slots=$wrong: must be from 1 to 64" err
done
code=0; rowlock run '' --slots=2 -- true 2>err || code=$?
test $code = 64
