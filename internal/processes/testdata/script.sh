# Extends the chain under one run of "rowlock run". "rowlock sql check" prints the check. Some transactions use a new
# check, and the others use the check that was printed before the first transaction.
. testdata/chain.sh
token=$(echo "$ROWLOCK_LEASE" | sed 's/.*"token":"\([0-9]*\)".*/\1/')
nonce=$(echo "$ROWLOCK_LEASE" | sed 's/.*"nonce":"\([^"]*\)".*/\1/')

check() { ROWLOCK_TEST_AS_COMMAND=yes "$BINARY" sql check "$CHAIN"; }

sql() { # sql STATEMENT...
	if [ -n "$CHECKS" ]; then
		check=$first
		if [ $(($(random) % 2)) = 0 ]; then
			check=$(check) || return
		fi
		set -- "$check" "$@"
	fi
	transaction "$@"
}

if [ -n "$CHECKS" ]; then
	first=$(check) || exit
fi
links
tell released
