# For a store that stores nothing about a free lock, status and ls show what the store knows, and run rejects options
# that the store cannot implement.
set -eu
mkfifo started block

test "$(rowlock status job)" = '"job" is free'
rowlock run job --holder me --note 'why not' -- sh -c 'echo >started; read _ <block' &
rowlock=$!
read _ <started

code=0; rowlock status job >out || code=$?
test $code = 75
case $ROWLOCK_STORE in
zk:*) end='until it is released or its session ends' json=null list=- ;;
*) end='lease ends in [0-9]+s unless renewed' json='[0-9]+' list='[0-9.]+m?s' ;;
esac
grep -Eq "^\"job\" is held by me, $end \(token [0-9]+\): why not\$" out
code=0; rowlock status job --json >out || code=$?
test $code = 75
grep -q '"state": "held"' out
grep -Eq "\"expires_in_seconds\": $json,\$" out
code=0; rowlock run job -- touch never 2>err || code=$?
test $code = 75
grep -Eq '^rowlock: "job" is held by me \(token [0-9]+\): why not$' err

rowlock ls | grep -Eq "^job +held +me +- +$list +[0-9]+ +why not\$"
test "$(rowlock ls --json --namespace other)" = '[]'
rowlock ls -A --namespace other | grep -Eq '^- +job +held'
rowlock status other >free
rowlock status job --namespace other >free

echo >block
wait $rowlock
test "$(rowlock status job)" = '"job" is free'
test "$(rowlock ls --all --json)" = '[]'
rowlock run "$(printf 'two\nlines')" -- rowlock ls | grep -Fq '"two\nlines"  held'

for option in --min-hold --handover-delay; do
	code=0; rowlock run job $option 1s -- touch never 2>err || code=$?
	test $code = 64
	grep -q -e "$option: .* keeps nothing about a free lock" err
done
test ! -e never
