# With invalid arguments rowlock exits with 64, and writes one sentence that says which command shows the help.
set -eu

refused() {
	want=$1
	shift
	code=0; rowlock "$@" >out 2>err || code=$?
	if test $code != 64 || ! grep -Fqe "$want" err || test -s out; then
		echo "rowlock $*: $code"
		cat err
		exit 1
	fi
}
refused 'the command is missing: rowlock run job -- COMMAND' run job
refused 'the command is missing: rowlock run job -- COMMAND' run job --
refused 'put -- between the name of the lock and the command: rowlock run job -- echo' run job echo hi
refused 'the name of the lock is missing' run -- echo
refused 'the name of the lock is missing' run
refused 'name is empty' run '' -- echo
refused 'want one name before --, but 2 were given: "b c" is the second' run a 'b c' -- echo
refused 'unknown flag: --bogus' run --bogus job -- echo
refused '--ttl=30: write a number with a unit, such as 500ms, 30s, 5m, 2h or 30d' run job --ttl 30 -- echo
refused '--ttl=-1s: must not be negative' run job --ttl -1s -- echo
refused '--wait=soon: write a number with a unit, such as 500ms, 30s, 5m, 2h or 30d, or inf' run job --wait soon -- echo
refused '--ttl=1ms: must be from 50ms to 168h' run job --ttl 1ms -- echo
refused '--conflict-exit-code=often: write a whole number' run job -E often -- echo
refused '--token=x: write a whole number' release job --token x
refused '--limit=99999999999999999999: is too large' history job --limit 99999999999999999999
ROWLOCK_QUIET=maybe refused 'ROWLOCK_QUIET=maybe: write true or false' ls
refused '--on-conflict=retry: write wait, skip, fail' run job --on-conflict retry -- echo
refused '-E 256: an exit code is from 0 to 255' run job -E 256 -- echo
refused '-E sets an exit code for a held lock' run job -E 3 --on-conflict=skip -- echo
refused '--table: table "a b"' run job --table 'a b' -- echo
refused 'it names no kind of store' run job --store nonsense -- echo
refused '--store: no other process can use a SQLite database in memory' run job --store sqlite::memory: -- echo
refused 'for help: rowlock run --help' run
refused 'say what to do' --quiet=false
refused 'unknown command "lock"' lock
refused 'unknown command "statsu" for "rowlock"; did you mean status?' statsu
refused 'there is no command "statsu"' help statsu
refused 'there is no command "migrate sideways"' help migrate sideways
refused 'the name of the lock is missing: rowlock status NAME' status
refused '--token is missing' release job
refused 'say which: migrate up, down, status or print' migrate sideways
refused '--dialect=oracle' migrate print --dialect oracle
ROWLOCK_LOG_FORMAT=xml refused 'ROWLOCK_LOG_FORMAT=xml: write text, json' ls

rowlock help exit-codes | grep -Eq '^  79 +lost'
rowlock run --help | grep -q 'rowlock help exit-codes'
rowlock version | grep -q '^rowlock '
