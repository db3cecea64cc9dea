# Runs a command under "rowlock run" again and again, until TERM. The arguments are the command.
trap 'over=yes' TERM
echo '{"What":"started"}'
while [ -z "$over" ]; do
	ROWLOCK_TEST_AS_COMMAND=yes "$BINARY" run "$CHAIN" --ttl="${TTL}s" --wait=1s --quiet ${CHECKS:+"--fence=$CHAIN"} -- \
		env -u ROWLOCK_TEST_AS_COMMAND "$@" 2>/dev/null
done
exit 0
