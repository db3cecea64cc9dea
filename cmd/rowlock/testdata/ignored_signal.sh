# What is ignored stays ignored, for rowlock and for the command: nohup works.
set -eu

(trap '' HUP; rowlock run job -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive') >out
test "$(cat out)" = alive
