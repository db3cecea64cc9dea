# Runs SQL in the console of MySQL or MariaDB, for script.sh and functions.sh.

console() { "$MYSQL" --defaults-file="$MYSQL_OPTIONS" --batch --skip-column-names --unbuffered "$@"; }

transaction() { # transaction STATEMENT...
	{
		echo 'START TRANSACTION;'
		printf '%s;\n' "$@"
		echo 'COMMIT;'
	} | console
}

# The procedures of the database.

acquire() { # sets nonce and token, if the lock is granted
	row=$(console -e "SET @nonce = NULL; CALL rowlock_lease_acquire('$CHAIN', 1, 3, NULL, NULL, NULL, @nonce, @token); SELECT @nonce, @token") || return
	nonce=$(echo "$row" | cut -f 1)
	token=$(echo "$row" | cut -f 2)
}

seal() { console -e "CALL rowlock_lease_seal('$CHAIN', $token, '$nonce', NULL, NULL)"; }

release() { console -e "CALL rowlock_lease_release('$CHAIN', '$nonce', $token, NULL, @released)"; }

check() { echo "CALL rowlock_lease_check('$CHAIN', $token, '$nonce', NULL)"; }
