# rowlock and the command keep ignoring a signal that was ignored before: nohup works.
set -eu

(trap '' HUP; rowlock run job -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive') >out
test "$(cat out)" = alive
