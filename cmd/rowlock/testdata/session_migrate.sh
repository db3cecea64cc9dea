# The migrations of lease rows also create and drop the sequence or table of the tokens of session locks.
# If that is missing, the message says how to create it. migrate down drops tables only if no session lock and no lease
# is held.
set -eu

rowlock migrate up
rowlock migrate up
rowlock migrate status | grep -Eq '^00001_lease.sql +20'
code=0; rowlock run job -- rowlock migrate down 2>err || code=$?
test $code = 75
grep -q 'nothing is dropped while a lock is held.* until it is released or its connection ends' err

rows=$(echo "$ROWLOCK_STORE" | sed 's/^postgres-advisory:/postgres:/; s/^mysql-getlock://')
code=0; rowlock run job --store "$rows" -- rowlock migrate down --store "$ROWLOCK_STORE" 2>err || code=$?
test $code = 75
grep -q 'nothing is dropped while a lock is held.* lease ends in' err

until rowlock migrate status | grep -Eq '^00001_lease.sql +-'; do
	rowlock migrate down
done
code=0; rowlock run job -- touch never 2>err || code=$?
test $code = 69
grep -Eq 'rowlock_lease_(token|mint) is missing in .*; create it with: rowlock migrate up --store' err
test ! -e never

rowlock migrate up --table mine
rowlock run job --table mine -- true
