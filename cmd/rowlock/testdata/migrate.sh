# migrate creates and drops the lock tables. If the tables are missing, the message of run says how to create them.
set -eu

rowlock migrate up
rowlock migrate up 2>again
rowlock migrate status 2>status | grep -Eq '^00001_lease.sql +20'
rowlock run job -- true

rowlock run job -- rowlock migrate down 2>err && exit 1
grep -q 'nothing is dropped while a lock is held or paused, unless --live is given: "job" is held by ' err
rowlock pause job --reason 'month end'
code=0; rowlock migrate down 2>err || code=$?
test $code = 75
grep -q 'unless --live is given: "job" is paused by .*: month end$' err
rowlock resume job
until rowlock migrate status | grep -Eq '^00002_fence.sql +-'; do
	rowlock migrate down
done
# A lock needs only the first migration. rowlock migrates a SQLite file without other tables by itself.
rowlock run job -- true
until rowlock migrate status | grep -Eq '^00001_lease.sql +-'; do
	rowlock migrate down
done
case $ROWLOCK_STORE in
local | sqlite:*) rowlock run job -- true ;;
*)
	rowlock run job -- true 2>err && exit 1
	grep -q 'create it with: rowlock migrate up' err
	;;
esac
rowlock migrate up
rowlock run job -- true
until rowlock migrate status | grep -Eq '^00001_lease.sql +-'; do
	rowlock migrate down
done

rowlock migrate up --table mine
rowlock run job --table mine -- true
rowlock ls --table mine --all | grep -q '^job '

for dialect in postgres mysql sqlite; do
	rowlock migrate print --dialect $dialect --table mine | grep -Eq 'CREATE TABLE (IF NOT EXISTS )?.mine. '
done

# migrate names the store in the same words as --dry-run.
where=$(rowlock run job --table mine --dry-run -- true | sed -n 's/^store: *//p')
test -n "$where"
grep -Fqx "rowlock: nothing to do: the tables of rowlock_lease are up to date in $where" again
grep -Fqx "rowlock: the migrations of rowlock_lease in $where" status
rowlock migrate up --table named 2>err
grep -Fqx "rowlock: applied 00001_lease.sql in $where" err
# Without a store, migrate changes the local SQLite file, and names that file.
env -u ROWLOCK_STORE rowlock migrate up --table newcomer 2>err
grep -Eqx 'rowlock: applied 00001_lease.sql in sqlite:/.*/locks.db' err
env -u ROWLOCK_STORE rowlock migrate down --table newcomer 2>err
grep -Eqx 'rowlock: rolled back 0000[0-9]_[a-z]+.sql in sqlite:/.*/locks.db' err
