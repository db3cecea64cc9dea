# The functions that script.sh and functions.sh share. The caller sets token and nonce, and defines the function sql,
# which runs statements in one transaction, after the check.
. "testdata/$CONSOLE.sh"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

tell() { # tell WHAT [LAST] [DETAIL]
	printf '{"What":"%s","Token":%s,"At":%s,"Last":%s,"Detail":"%s"}\n' "$1" "$token" "$(date +%s%N)" "${2:-0}" "$3"
}

# refused tells why a transaction failed. The file "$errors" contains the errors of the console.
refused() {
	why=$(tr '"\\\t\n' "'/  " <"$errors")
	case $why in
	*'ERROR:  RLF02'* | *'ERROR 50452 '* | *'ERROR 1064 '*"near 'rowlock: stale"*) tell stale 0 "$why" ;;
	*'ERROR:  40001'* | *'(40001)'*) tell undone 0 "$why" ;;
	*'rowlock: lost '* | *'rowlock sql check has failed'*) tell lost 0 "$why" ;;
	*) tell broken 0 "$why" ;;
	esac
}

random() { od -An -N6 -tu8 /dev/urandom | tr -d ' '; }

# links reads the end of the chain once and writes a few times.
links() {
	tell granted
	last=$(sql "SELECT coalesce((SELECT new_val FROM ledger WHERE id = $ID ORDER BY seq DESC LIMIT 1), 0)" 2>"$errors") || {
		refused
		return
	}
	last=$(echo "$last" | tail -n 1)
	for link in 1 2 3; do
		tell ready "$last"
		sleep "0.0$(($(random) % 90 + 10))"
		next=$(random)
		inside=$(tell inside "$last")
		if ! sql "\\! echo '$inside'" "INSERT INTO ledger (id, token, nonce, worker, read_val, new_val) VALUES ($ID, $token, '$nonce', $WORKER, $last, $next)" 2>"$errors"; then
			refused
			return
		fi
		last=$next
		tell wrote "$last"
	done
}
