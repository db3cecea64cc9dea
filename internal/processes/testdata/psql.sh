# Runs SQL in psql, for script.sh and functions.sh.

console() { "$PSQL" "$ROWLOCK_STORE" -qAtX -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$@"; }

transaction() { # transaction STATEMENT...
	for statement; do
		shift
		set -- "$@" -c "$statement"
	done
	console -1 "$@"
}

# The functions of the database.

acquire() { # sets nonce and token, if the lock is granted
	nonce=$(console -c "SELECT rowlock_lease_nonce()") || return
	row=$(console -c "CALL rowlock_lease_acquire('$CHAIN', wait => '1 s', ttl => '3 s', nonce => '$nonce')") || return
	case $row in
	*'|granted|'*) token=$(echo "$row" | cut -d '|' -f 3) ;;
	*) return 1 ;;
	esac
}

seal() { console -c "SELECT rowlock_lease_seal('$CHAIN', $token, '$nonce')" >/dev/null; }

release() { console -c "SELECT rowlock_lease_release('$CHAIN', '$nonce', $token)" >/dev/null; }

check() { echo "DO \$\$ BEGIN PERFORM rowlock_lease_check('$CHAIN', $token, '$nonce'); END \$\$"; }
