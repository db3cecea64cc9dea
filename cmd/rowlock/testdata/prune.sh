# prune deletes locks that have been free for longer than --unused, and never a held lock. Later tokens are still
# larger.
set -eu
mkfifo started block

rowlock run old -- sh -c 'echo $ROWLOCK_TOKEN >before'
rowlock run job -- sh -c 'echo >started; read _ <block' &
rowlock=$!
read _ <started
case $ROWLOCK_STORE in redis:*) ;; *)
	until rowlock history job | grep -q ' running '; do sleep 0.05; done
	test "$(rowlock history old | wc -l)" = 2
	;;
esac
rowlock prune --unused 30d >out 2>err
test ! -s out
grep -q '^rowlock: 0 locks forgotten$' err
rowlock --log-format=json prune --unused 0 2>err
grep -q '"event":"pruned","forgotten":1}' err
test "$(rowlock ls --json --all --name old)" = '[]'
case $ROWLOCK_STORE in redis:*) ;; *) # prune also deletes the history of the lock
	test "$(rowlock history old | wc -l)" = 1
	rowlock history job | grep -q ' running '
	;;
esac
rowlock prune --unused 0 -q 2>err
test ! -s err
rowlock ls | grep -q '^job  *held'
rowlock run old -- sh -c 'test $ROWLOCK_TOKEN -gt $(cat before)'
echo >block
wait $rowlock
