# Extends the chain again and again, until TERM, with the functions or procedures of the database alone.
. testdata/chain.sh
trap 'over=yes' TERM
token=0
tell started

sql() { # sql STATEMENT...
	if [ -n "$CHECKS" ]; then
		set -- "$(check)" "$@"
	fi
	transaction "$@"
}

while [ -z "$over" ]; do
	token=0
	acquire 2>"$errors" || continue
	if [ -n "$CHECKS" ] && ! seal 2>"$errors"; then
		tell unsealed
	else
		links
	fi
	release 2>"$errors"
	tell released
done
