# A run inside a command that waits for that command's own lock would wait forever. So it fails at once,
# whatever --on-conflict is, even if the command runs under further locks. It waits as usual for a lock with the same
# name in another namespace or store, and for a lock that another process holds.
set -eu

for options in --wait=inf --on-conflict=wait --on-conflict=skip --on-conflict=fail; do
	code=0; rowlock run self -- rowlock run self $options -- touch never 2>err || code=$?
	test $code = 64
	grep -Eqx 'rowlock: "self" is held by the "rowlock run" that started this command \(token [0-9]+\), so this wait would never end: remove this inner lock, or name another lock' err || { cat err; exit 1; }
done
code=0; rowlock run self -- rowlock run 'b: %' -- rowlock run self --wait=inf -- touch never 2>err || code=$?
test $code = 64
code=0; rowlock run 'b: %' -- rowlock run self -- rowlock run 'b: %' --wait=inf -- touch never 2>err || code=$?
test $code = 64
test ! -e never

# wait and pause fail in the same way. With --timeout=0, wait does not wait, and reports that the lock is held.
code=0; rowlock run self -- rowlock wait self --timeout=20s 2>err || code=$?
test $code = 64
grep -q 'so this wait would never end' err || { cat err; exit 1; }
code=0; rowlock run self -- rowlock wait self --timeout=0 2>err || code=$?
test $code = 75
rowlock run self -- rowlock wait other --timeout=20s
code=0; rowlock run self -- rowlock pause self --reason=maintenance --wait=20s 2>err || code=$?
test $code = 64
grep -Eq 'so this wait would never end|nothing can be paused' err || { cat err; exit 1; }

rowlock run self -- rowlock run self --namespace other -- touch ran
test -e ran
# rowlock ignores the variables of an outer run that has ended.
rowlock run self -- env >outer
mkfifo started block
rowlock run self -- sh -c 'echo >started; read _ <block' &
read _ <started
code=0; env "$(grep ^ROWLOCK_LOCKS= outer)" rowlock run self -- true 2>err || code=$?
case $ROWLOCK_STORE in
postgres-advisory*) ;; # the store does not report the holder
*) test $code = 75 ;;
esac
echo >block
wait
