# status and ls show the holder of a session lock, and show no expiry.
set -eu
mkfifo started block

case $(rowlock status job) in '"job" is free, and was never held' | '"job" is free') ;; *) exit 1 ;; esac
rowlock run job --holder me --note 'why not' -- sh -c 'echo >started; read _ <block' &
rowlock=$!
read _ <started

code=0; rowlock status job >out || code=$?
test $code = 75
code=0; rowlock status job --json >json || code=$?
test $code = 75
code=0; rowlock run job -- touch never 2>err || code=$?
test $code = 75
rowlock ls >list
rowlock ls --json >list.json
! grep -Eq 'lease ends|unless renewed' out err list || exit 1
grep -q '"state": "held"' json
grep -q '"expires_in_seconds": null' json
grep -q '"expires_in_seconds": null' list.json
rowlock status other >free
rowlock status job --namespace other >free

case $ROWLOCK_STORE in
postgres-advisory*)
	session='session [0-9]+( of [^ ]+)?( from [^ ]+)? \(rowlock\)'
	grep -Eq "^\"job\" is held by \"$session\", connected for [0-9.]+m?s, until it is released or its connection ends\$" out
	grep -Eq "^rowlock: \"job\" is held by $session\$" err
	grep -Eq "^\"key [0-9a-f]{16}\" +held +\"$session\" +[0-9.]+m?s +- +0 +only the key is known" list
	rowlock ls -A --namespace other | grep -Eq '^- +"key [0-9a-f]{16}" +held'
	test "$(wc -l <list)" -eq 2
	;;
*)
	grep -Eq '^"job" is held by me for [0-9.]+m?s, until it is released or its connection ends \(token [0-9]+\): why not$' out
	grep -Eq '^rowlock: "job" is held by me since 20..-..-.. ..:..:.. UTC \(token [0-9]+\): why not$' err
	grep -Eq '^job +held +me +[0-9.]+m?s +- +[0-9]+ +why not$' list
	test "$(rowlock ls --json --namespace other)" = '[]'
	rowlock ls -A --namespace other | grep -Eq '^- +job +held'
	;;
esac

echo >block
wait $rowlock
rowlock status job | grep -q '^"job" is free'
test "$(rowlock ls --json)" = '[]'
