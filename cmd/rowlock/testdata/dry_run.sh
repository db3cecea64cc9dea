# --dry-run says what the run would do, and who holds the lock. It does not start the command, and does not acquire the
# lock.
set -eu

rowlock run job --dry-run --wait 5m -- touch 'two words' >out
grep -Eqx "command:  /.*/touch \"two words\"" out || { cat out; exit 1; }
grep -Eqx 'lock:     "job"' out
grep -Eqx 'store:    [a-z].*' out
grep -Eqx 'excludes: processes .*' out
grep -Eqx 'holder:   touch@.*' out
grep -Fqx 'times:    a crash frees the lock within 30s, wait 5m0s, grace 10s (6s when the lock is lost)' out
grep -Eqx 'now:      "job" is free.*' out
grep -Fqx 'then:     the command would start' out
rowlock run job -- sh -c '
	rowlock run job --dry-run -- touch never &&
	rowlock run job --dry-run --on-conflict skip -- touch never &&
	rowlock run job --dry-run --on-conflict wait -- touch never' >out
grep -Eq '^now:      "job" is held by ' out
grep -Fqx 'then:     exit with code 75, without starting the command' out
grep -Fqx 'then:     exit with code 0, without starting the command' out
grep -Fqx 'then:     wait until the lock is free, and start the command' out
test ! -e 'two words'
test ! -e never
code=0; rowlock run job --dry-run -- no-such-command 2>err || code=$?
test $code = 127
code=0; rowlock run '' --dry-run -- true 2>err || code=$?
test $code = 64
rowlock run job -- true # the lock is free
