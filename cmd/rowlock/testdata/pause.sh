# Until a paused lock is resumed, no process gets the lock, and each refusal says who paused it and why.
# pause waits for the present holder. release does not end a pause, and resume ends only pauses.
set -eu
mkfifo started block messages

rowlock run job -- sh -c 'echo >started; read _ <block' &
holder=$!
read _ <started
code=0; rowlock pause job --reason now --wait=0 2>err || code=$?
test $code = 75
grep -q '^rowlock: "job" is held by sh@' err
code=0; rowlock resume job 2>err || code=$?
test $code = 1
grep -q '^rowlock: "job" is not resumed, because it is not paused, or not with that token: "job" is held by sh@' err
rowlock --log-format=json pause job --reason 'month end' --holder ann@desk 2>messages >out &
pause=$!
exec 3<messages
read line <&3
case $line in '{'*'"event":"waiting"'*'"reason":"held"'*) ;; *) echo "$line"; exit 1 ;; esac
echo >block
wait $holder
wait $pause
test ! -s out
read line <&3
case $line in '{'*'"event":"paused","namespace":"","name":"job","token":'*'}') ;; *) echo "$line"; exit 1 ;; esac

code=0; rowlock run job -- touch never 2>err || code=$?
test $code = 75
grep -Eq '^rowlock: "job" is paused by ann@desk( since 20..-..-.. ..:..:.. UTC)? \(token [0-9]+\): month end$' err
test ! -e never
code=0; rowlock pause job --wait=0 --reason twice 2>err || code=$?
test $code = 75
grep -q '"job" is paused by ann@desk' err
code=0; rowlock status job >out || code=$?
test $code = 75
grep -Eq '^"job" is paused by ann@desk( for [0-9.]+m?s)?, until it is resumed \(token [0-9]+\): month end$' out
rowlock ls | grep -Eq '^job +paused +ann@desk +(-|[0-9.]+m?s) +- +[0-9]+ +month end$'
code=0; rowlock status job --json >out || code=$?
test $code = 75
grep -q '"state": "paused",' out
grep -q '"expires_in_seconds": null,' out
token=$(sed -n 's/.*"token": \([0-9]*\),/\1/p' out)

for live in '' --live; do
	code=0; rowlock release job $live --token "$token" 2>err || code=$?
	test $code = 75
	grep -q '"job" is not released, because it is paused: "job" is paused by ann@desk.*: month end; end that with: rowlock resume ' err
done
code=0; rowlock release job --live --token $((token + 1)) 2>/dev/null || code=$?
test $code = 1
code=0; rowlock resume job --token $((token + 1)) 2>/dev/null || code=$?
test $code = 1

rowlock run job --wait=inf -- sh -c 'echo $ROWLOCK_TOKEN >token' 2>messages &
waiter=$!
read line <messages
case $line in 'rowlock: waiting: "job" is paused by ann@desk'*) ;; *) echo "$line"; exit 1 ;; esac
rowlock --log-format=json resume job 2>err >out
grep -q '"event":"resumed","namespace":"","name":"job"' err
test ! -s out
wait $waiter
test "$(cat token)" -gt "$token"

# The suggested command can be pasted: it names the store, the namespace, and a name that looks like an option.
rowlock pause --namespace 'a b' --reason why -- -x
token=$(rowlock status --namespace 'a b' --json -- -x | sed -n 's/.*"token": \([0-9]*\),/\1/p')
code=0; rowlock release --namespace 'a b' --token "$token" -- -x 2>err || code=$?
test $code = 75
(unset ROWLOCK_NAMESPACE; eval "$(sed -n 's/.*; end that with: //p' err)")
code=0; rowlock status --namespace 'a b' -- -x >out || code=$?
test $code = 0 || { cat out err; exit 1; }

# The message names the user who paused the lock even if USER and similar variables are missing, as in a container.
env -u USER -u LOGNAME -u USERNAME rowlock pause bare --reason 'who am I'
rowlock status bare >out || :
grep -q "is paused by $(id -un)@" out || { cat out; exit 1; }

# A signal ends the wait of pause, and the message says that the lock was not paused.
rm -f started block messages
mkfifo started block messages
rowlock run waited -- sh -c 'echo >started; read _ <block' &
holder=$!
read _ <started
rowlock pause waited --reason now 2>messages &
pause=$!
exec 3<messages
read line <&3
kill -TERM $pause
code=0; wait $pause || code=$?
test $code = 143
read line <&3
test "$line" = 'rowlock: terminated while waiting for "waited": the lock was not paused' || { echo "$line"; exit 1; }
echo >block
wait $holder
rowlock run waited --wait=5s -- true # waits, because a release may have reserved the lock for a waiter for 50 ms
