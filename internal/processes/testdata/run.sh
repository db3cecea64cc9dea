# Runs a command under "rowlock run" again and again, until TERM. The arguments are the command. If "rowlock run" is
# killed, the kernel kills the shell that starts the command, but not the command. nohup ignores HUP, which the kernel
# sends to suspended processes that have become orphans.
trap 'over=yes' TERM
echo '{"What":"started"}'
while [ -z "$over" ]; do
	ROWLOCK_TEST_AS_COMMAND=yes "$BINARY" run "$CHAIN" --ttl="${TTL}s" --wait=1s --quiet ${CHECKS:+"--fence=$CHAIN"} -- \
		sh -c 'unset ROWLOCK_TEST_AS_COMMAND; nohup "$@"; exit' sh "$@" 2>/dev/null
done
exit 0
