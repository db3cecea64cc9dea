# fence ls lists marks, fence reset resets one mark or all marks, and fence prune does not delete a new mark.
set -eu
store=$ROWLOCK_STORE; test "$store" != local || store=sqlite:$XDG_STATE_HOME/rowlock/locks.db

code=0; rowlock fence reset rowlock-demo --token 7 2>err || code=$?
test $code = 1
grep -q 'nothing is reset: "rowlock-demo" has no mark: it was never sealed' err
test "$(rowlock fence ls)" = 'RESOURCE  TOKEN  AGE  RESETS  DOMAIN'
test "$(rowlock fence ls --json --all)" = '[]'

# The demonstration seals a resource, and so creates a mark.
rowlock demo stock --workers 1 --stock 1 --store "$store" >out
rowlock demo stock --workers 1 --stock 1 --store "$store" --namespace "it's" >out
rowlock fence ls >out
grep -Eq '^rowlock-demo +[0-9]+ +[0-9.]+m?s +0 +[a-z/]+ rowlock-demo$' out
test "$(wc -l <out)" = 2
rowlock fence ls --all >out
head -n 1 out | grep -Eq '^NAMESPACE +RESOURCE +TOKEN +AGE +RESETS +DOMAIN$'
grep -Eq "^it's +rowlock-demo +[0-9]+ " out
test "$(wc -l <out)" = 3
rowlock fence ls --json >out
grep -q '"resource": "rowlock-demo"' out
token=$(sed -n 's/.*"token": \([0-9]*\),/\1/p' out)

# If the mark has another token, the error says so, and the mark does not change.
code=0; rowlock fence reset rowlock-demo --token $((token - 1)) 2>err || code=$?
test $code = 1
grep -q "nothing is reset: the mark of \"rowlock-demo\" now has token $token instead of $((token - 1))" err
rowlock fence ls --json | grep -q "\"token\": $token,"

rowlock fence reset rowlock-demo --token "$token" >out 2>err
test ! -s out
grep -q "the mark of \"rowlock-demo\", which had token $token, is reset: holders that sealed before are rejected" err
rowlock fence ls | grep -Eq '^rowlock-demo +- +[0-9.]+m?s +1$'
rowlock fence ls --json --namespace "it's" | grep -q '"resets": 0,'
code=0; rowlock fence reset rowlock-demo --token "$token" 2>err || code=$?
test $code = 1
grep -q 'the mark of "rowlock-demo" was already reset, and no lease has sealed it since' err

# After a reset the next lease that seals is accepted.
rowlock demo stock --workers 1 --stock 1 --store "$store" >out
rowlock fence ls | grep -Eq '^rowlock-demo +[0-9]+ +[0-9.]+m?s +1 +[a-z/]+ rowlock-demo$'

# fence reset --all resets all marks, for a database that was restored from a backup.
rowlock fence reset --all --namespace "it's" 2>err
grep -q "every mark of namespace \"it's\" is reset" err
test "$(rowlock fence ls --all | grep -Ec ' - ')" = 1
rowlock fence reset --all 2>err
grep -q 'every mark is reset' err
test "$(rowlock fence ls --all | grep -Ec ' - ')" = 2

rowlock fence prune --unused 30d 2>err
grep -q '0 marks forgotten' err
rowlock --log-format=json fence prune --unused 1d 2>err
grep -q '"event":"pruned","forgotten":0}' err

refused() {
	want=$1
	shift
	code=0; rowlock fence "$@" >out 2>err || code=$?
	if test $code != 64 || ! grep -Fqe "$want" err || test -s out; then
		echo "rowlock fence $*: $code"
		cat err
		exit 1
	fi
}
refused 'say which: fence ls, reset or prune'
refused 'say which: fence ls, reset or prune' list
refused 'takes no argument' ls demo
refused 'the resource is missing: rowlock fence reset --token N RESOURCE' reset --token 7
refused 'want one resource, but 2 were given: b is the second' reset --token 7 a b
refused '--token is missing' reset demo
refused '--token is missing or not above 0' reset rowlock-demo --token 0
refused '--token=seven' reset rowlock-demo --token seven
refused 'the resource: want at most 512 bytes of UTF-8' reset --token 7 "$(printf '\377')"
refused '--namespace: want at most 128 bytes of UTF-8' ls --namespace "$(printf '\377')"
refused 'takes no argument' reset --all rowlock-demo
refused '--token names one mark' reset --all --token 7
refused '--unused is missing' prune
refused '--unused=23h0m: must be at least 1d0h' prune --unused 23h
refused '--unused=soon: write a number with a unit' prune --unused soon

until rowlock migrate status | grep -Eq '^00002_fence.sql +-'; do
	rowlock migrate down
done
case $ROWLOCK_STORE in
local | sqlite:*) rowlock fence ls | grep -q '^RESOURCE ' ;; # rowlock migrates a SQLite file without other tables by itself
*)
	for command in 'ls' 'reset --all' 'reset rowlock-demo --token 7' 'prune --unused 30d'; do
		code=0; rowlock fence $command 2>err || code=$?
		test $code = 69
		grep -q 'the fence table rowlock_lease_fence is missing or out of date in .*; create it with: rowlock migrate up' err
	done
	;;
esac
rowlock fence --help | grep -q 'prune'
