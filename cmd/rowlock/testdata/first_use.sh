# If many processes use a new store for the first time at the same time, each process gets the lock, and tokens rise.
set -eu

pids=
for i in 1 2 3 4 5 6 7 8; do
	rowlock run job --wait 60s -- sh -c 'echo $ROWLOCK_TOKEN >>tokens' 2>/dev/null &
	pids="$pids $!"
done
for pid in $pids; do wait $pid; done
test "$(wc -l <tokens)" -eq 8
sort -n -u tokens | cmp - tokens
