# If a signal is ignored when rowlock starts, rowlock and the command ignore it, too. So nohup works.
set -eu

(trap '' HUP; rowlock run job -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive') >out
test "$(cat out)" = alive
