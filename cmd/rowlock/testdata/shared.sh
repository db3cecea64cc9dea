# Runs with --shared hold a lock at the same time. A run without --shared waits for all of them, and excludes them.
set -eu
mkfifo a b block1 block2 messages

rowlock run board --shared -- sh -c 'echo "$ROWLOCK_TOKEN" >a; read _ <block1' &
first=$!
read token1 <a
ROWLOCK_SHARED=true rowlock run board --holder two -- sh -c 'echo "$ROWLOCK_TOKEN" >b; read _ <block2' &
second=$!
read token2 <b
test "$token1" = "$token2"

# status and ls count the readers. A writer is refused, and a reader would start.
code=0; rowlock status board >out || code=$?
test $code = 75
grep -Eq '^"board" is held by 2 readers, one of them ' out
rowlock status board --json >out || true
grep -q '"readers": 2,$' out
rowlock ls >out
head -n 1 out | grep -Eq ' TOKEN +READERS +NOTE$'
grep -Eq ' held .* 2( |$)' out
code=0; rowlock run board -- touch never 2>err || code=$?
test $code = 75
grep -Eq '^rowlock: "board" is held by 2 readers, one of them ' err
rowlock run board --dry-run -- true >out
grep -Fqx 'then:     exit with code 75, without starting the command' out
rowlock run board --shared --dry-run -- true >out
grep -Fqx 'then:     the command would start' out

# A writer inside a reader would wait for itself.
code=0; rowlock run board --shared -- rowlock run board --wait=inf -- touch never 2>err || code=$?
test $code = 64
grep -q 'this wait would never end' err

# A writer starts when the last reader has ended. While it runs, readers are refused.
rowlock run board --wait=inf -- sh -c 'code=0; ROWLOCK_LOCKS= rowlock run board --shared -- touch never || code=$?; echo $code >written' 2>messages &
writer=$!
read line <messages
cat messages >later &
drain=$!
echo >block1
wait $first
test ! -e written
echo >block2
wait $second
wait $writer
wait $drain
test "$(cat written)" = 75
test ! -e never

refused() {
	want=$1
	shift
	code=0; rowlock run board --shared "$@" -- touch never 2>err || code=$?
	if test $code != 64 || ! grep -Fqe "$want" err; then
		cat err
		exit 1
	fi
}
refused '--once and --once-per need the lock alone' --once=2026-11-24
refused '--once and --once-per need the lock alone' --once-per=1h
refused '--shared lets any number of readers hold one lock' --slots=2
refused '--min-hold' --min-hold=1s
refused '--handover-delay' --handover-delay=1s
test ! -e never
