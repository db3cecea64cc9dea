# migrate creates and drops the table of the tokens of session locks, by the same migrations as lease rows. Without it,
# the message says how to create it. A table is dropped only if no lock of either kind is held.
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
grep -Eq 'rowlock_lease_(token|counter) is missing in .*; create it with: rowlock migrate up --store' err
test ! -e never

rowlock migrate up --table mine
rowlock run job --table mine -- true
