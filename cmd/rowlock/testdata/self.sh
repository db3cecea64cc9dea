# A lock inside itself fails at once, whatever the policy, also with another lock between the two: it would wait for itself
# for ever. Another lock of that name, and a lock whose holder is somebody else, are none of it.
set -eu

for options in --wait=inf --on-conflict=wait --on-conflict=skip --on-conflict=fail; do
	code=0; rowlock run self -- rowlock run self $options -- touch never 2>err || code=$?
	test $code = 64
	grep -Eqx 'rowlock: "self" is held by the "rowlock run" that this command is part of \(token [0-9]+\), and would wait for itself: leave the inner lock out, or give it another name' err || { cat err; exit 1; }
done
code=0; rowlock run self -- rowlock run 'b: %' -- rowlock run self --wait=inf -- touch never 2>err || code=$?
test $code = 64
code=0; rowlock run 'b: %' -- rowlock run self -- rowlock run 'b: %' --wait=inf -- touch never 2>err || code=$?
test $code = 64
test ! -e never

rowlock run self -- rowlock run self --namespace other -- touch ran
test -e ran
# The variables of an outer run that has ended say nothing of who holds the lock now.
rowlock run self -- env >outer
mkfifo started block
rowlock run self -- sh -c 'echo >started; read _ <block' &
read _ <started
code=0; env "$(grep ^ROWLOCK_LOCKS= outer)" rowlock run self -- true 2>err || code=$?
case $ROWLOCK_STORE in
postgres-advisory*) ;; # which does not tell whose lock it is
*) test $code = 75 ;;
esac
echo >block
wait
