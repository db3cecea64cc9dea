# In a nested run, the environment of the inner command describes the inner lock. The environment of the outer command
# still describes the outer lock.
set -eu

rowlock run outer -- sh -eu -c '
	outer=$ROWLOCK_TOKEN
	test "$ROWLOCK_NAME" = outer
	rowlock run inner -- env >inner
	test "$ROWLOCK_TOKEN" = "$outer"
	echo "$outer" >outer
'
for variable in NAME TOKEN HOLDER EXPIRES_AT; do
	test "$(grep -c "^ROWLOCK_$variable=" inner)" = 1
done
grep -q '^ROWLOCK_NAME=inner$' inner
grep -q '^ROWLOCK_HOLDER=env@' inner
grep -Eq '^ROWLOCK_EXPIRES_AT=20..-..-..T..:..:..\....Z$' inner

# On stores that keep tokens after a release, status shows the tokens that the commands have seen.
case ${ROWLOCK_STORE:-} in postgres-advisory* | etcd:* | zk:*) exit ;; esac
rowlock status inner --json | grep -q "\"token\": $(sed -n 's/^ROWLOCK_TOKEN=//p' inner),"
rowlock status outer --json | grep -q "\"token\": $(cat outer),"
