# Extends the chain under one run of "rowlock run". "rowlock sql check" prints the check for each transaction.
. testdata/chain.sh
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
token=$(echo "$ROWLOCK_LEASE" | sed 's/.*"token":"\([0-9]*\)".*/\1/')
nonce=$(echo "$ROWLOCK_LEASE" | sed 's/.*"nonce":"\([^"]*\)".*/\1/')

sql() { # sql STATEMENT...
	if [ -n "$CHECKS" ]; then
		check=$(ROWLOCK_TEST_AS_COMMAND=yes "$BINARY" sql check "$CHAIN") || return
		set -- "$check" "$@"
	fi
	for statement; do
		shift
		set -- "$@" -c "$statement"
	done
	"$PSQL" "$ROWLOCK_STORE" -qAtX -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -1 "$@"
}

links
tell released
