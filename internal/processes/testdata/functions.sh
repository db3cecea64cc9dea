# Extends the chain again and again, until TERM, with the functions of the database alone.
. testdata/chain.sh
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
trap 'over=yes' TERM
token=0
tell started

sql() { # sql STATEMENT...
	if [ -n "$CHECKS" ]; then
		set -- "DO \$\$ BEGIN PERFORM rowlock_lease_check('$CHAIN', $token, '$nonce'); END \$\$" "$@"
	fi
	for statement; do
		shift
		set -- "$@" -c "$statement"
	done
	"$PSQL" "$ROWLOCK_STORE" -qAtX -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -1 "$@"
}

run() { "$PSQL" "$ROWLOCK_STORE" -qAtX -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -c "$1" 2>"$errors"; }

while [ -z "$over" ]; do
	token=0
	nonce=$(run "SELECT rowlock_lease_nonce()") || continue
	row=$(run "CALL rowlock_lease_acquire('$CHAIN', wait => '1 s', ttl => '3 s', nonce => '$nonce')") || continue
	case $row in
	*'|granted|'*) token=$(echo "$row" | cut -d '|' -f 3) ;;
	*) continue ;;
	esac
	if [ -n "$CHECKS" ] && ! run "SELECT rowlock_lease_seal('$CHAIN', $token, '$nonce')" >/dev/null; then
		tell unsealed
	else
		links
	fi
	run "SELECT rowlock_lease_release('$CHAIN', '$nonce', $token)" >/dev/null
	tell released
done
