# If a run is refused, the message says who holds the lock, on which host, since when and until when.
# The inner run has no ROWLOCK_LOCKS, so it behaves like another job.
set -eu

code=0; rowlock run job --note 'month end' -- env -u ROWLOCK_LOCKS rowlock run job -- touch never 2>err || code=$?
test $code = 75
grep -Eq '^rowlock: "job" is held by env@[^ ]+:[0-9]+ since 20..-..-.. ..:..:.. UTC, lease ends in [0-9.]+s unless renewed \(token [0-9]+\): month end$' err
test ! -e never
