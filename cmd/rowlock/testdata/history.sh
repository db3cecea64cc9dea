# On stores with tables, history records the outcome of each run. A job's exit code never depends on the history.
set -eu

test "$(rowlock history job)" = 'STARTED  OUTCOME  EXIT  TOOK  WAITED  TOKEN  HOLDER  NOTE'
rowlock history job --json | tr -d ' \n' | grep -q '"refused_in_a_row":0,"runs":\[\]}$'

rowlock run job --note 'of the night' -- true
code=0; rowlock run job --timeout 100ms --grace 100ms -- sleep 60 || code=$?
test $code = 124
touch no-program && chmod +x no-program
code=0; rowlock run job -- ./no-program || code=$?
test $code = 126
mkfifo started block
rowlock run job --holder somebody -- sh -c 'echo >started; read _ <block; exit 5' &
read _ <started
until rowlock history job -n 1 | grep -q ' running '; do sleep 0.05; done
code=0; rowlock run job --note 'too late' -- true || code=$?
test $code = 75
rowlock run job --on-conflict skip -- true
echo >block
code=0; wait $! || code=$?
test $code = 5

rowlock history job >out # the run that started last comes first
sed -n 2p out | grep -Eq ' UTC  skipped +0 +- +0s +- +true@[^ ]* +held by ' || { cat out; exit 1; }
sed -n 3p out | grep -Eq ' UTC  held +75 +- +0s +- +true@[^ ]* +held by .* too late$' || { cat out; exit 1; }
sed -n 4p out | grep -Eq ' UTC  exited +5 .* somebody$' || { cat out; exit 1; }
sed -n 5p out | grep -Eq ' UTC  failed +126 ' || { cat out; exit 1; }
sed -n 6p out | grep -Eq ' UTC  timeout +124 ' || { cat out; exit 1; }
sed -n 7p out | grep -Eq ' UTC  exited +0 .* of the night$' || { cat out; exit 1; }
sed -n 8p out | grep -Fqx '"job" was refused 2 times in a row since the last run began'

rowlock history job --json -n 1 | tr -d ' \n' | grep -Eq '"refused_in_a_row":2,"runs":\[\{"started_at":"20[^"]*Z","outcome":"skipped","exit_code":0,"took_seconds":0[^{]*\}\]\}$'
test "$(rowlock history job --namespace other | wc -l)" = 1
code=0; rowlock history job -n 0 2>err || code=$?
test $code = 64
grep -q -e '--limit=0: must be at least 1' err
code=0; rowlock history 2>err || code=$?
test $code = 64

# A run is recorded when it starts, so the history also shows a run that was killed.
rowlock run job --ttl 15s --wait 1m --note killed -- sh -c 'echo >started; read _ <block' &
rowlock=$!
read _ <started
until rowlock history job -n 1 | grep -Eq ' running +- +- .* killed$'; do sleep 0.05; done
rowlock history job --json -n 1 | tr -d ' \n' | grep -q '"outcome":"running","exit_code":null,"took_seconds":null,'
kill -9 $rowlock
wait $rowlock || true
# An operator ends the lease of the run that was killed, so that the script does not wait for the TTL.
rowlock release job --live --token "$(rowlock status job --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')" 2>err ||
	rowlock wait job --timeout 60s 2>/dev/null # a session lock has already ended with its connection
rowlock history job -n 1 >out
grep -Eq ' unfinished +- +- .* killed$' out || { cat out; exit 1; }

# If the history table is missing, a run works, and writes no message about the table.
rowlock migrate down
case $ROWLOCK_STORE in
local | sqlite:*) ;; # rowlock migrates a SQLite file without other tables by itself
*)
	rowlock run job -- true 2>err
	test ! -s err
	code=0; rowlock history job 2>err || code=$?
	test $code = 69
	grep -q 'rowlock_lease_run is missing in .*; create it with: rowlock migrate up' err
	;;
esac
