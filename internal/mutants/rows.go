package main

// onSQLite returns a suite with cases of the conformance suite on SQLite.
func onSQLite(cases ...string) []suite {
	s := suite{pkg: "sqllock"}
	for _, c := range cases {
		s.names = append(s.names, "TestConformanceOfSQLite/"+c)
	}
	return []suite{s}
}

// The function passing returns a suite with cases in which a release must not grant a recorded request.
func passing(of string) []suite {
	return []suite{{"sqllock", []string{"TestPostgresReleaseDoesNotGrantWhatAcquireWouldNot/" + of}}}
}

// The function stepped returns a suite with tests in which a database's clock is set forward or back.
func stepped(names ...string) []suite {
	s := suite{pkg: "internal/clockstep"}
	for _, name := range names {
		s.names = append(s.names, "TestClockSteps/"+name)
	}
	return []suite{s}
}

// rows lists defects in the code of lease rows.
var rows = []mutant{
	{"a renewal compares no token", "own grant only, S7",
		file("sqllock/internal/sqlite/sql/renew.sql", "AND l.token = a.token", ""),
		onSQLite("renewal-compares-token")},
	{"a renewal compares no nonce", "own grant only, S7",
		file("sqllock/internal/sqlite/sql/renew.sql", "l.nonce = a.nonce", "l.nonce IS NOT NULL"),
		onSQLite("renewal-compares-nonce")},
	{"a renewal extends a lease that has expired", "own grant only, S7",
		file("sqllock/internal/sqlite/sql/renew.sql", "AND l.expires_at > a.now", ""),
		onSQLite("renewal-does-not-revive", "loss-is-told")},
	{"a release compares no nonce", "own grant only, S6",
		file("sqllock/internal/sqlite/sql/release.sql", "AND nonce = ?3", "AND ?3 IS NOT NULL"),
		onSQLite("release-compares-nonce", "release-by-nonce")},
	{"a release compares no token", "own grant only, S6",
		file("sqllock/internal/sqlite/sql/release.sql", "?4 IN (0, token)", "?4 IS NOT NULL"),
		onSQLite("release-compares-token")},
	{"a release deletes the row", "tokens rise, S2, S10",
		both(
			file("sqllock/internal/sqlite/sql/release.sql", "UPDATE rowlock_lease", "DELETE FROM rowlock_lease /*"),
			file("sqllock/internal/sqlite/sql/release.sql", "WHERE namespace = ?1", "*/ WHERE ?5 IS NOT NULL AND namespace = ?1")),
		stepped("sqlite/back")},
	{"tokens depend only on the clock", "tokens rise, S2",
		file("sqllock/internal/sqlite/sql/acquire.sql", "max(l.token + 1, excluded.token)", "excluded.token"),
		stepped("sqlite/back")},
	{"one nonce gets two tokens", "nothing is left behind, S11",
		file("sqllock/internal/sqlite/sql/acquire.sql", "WHEN l.nonce = excluded.nonce THEN l.token", "WHEN false THEN l.token"),
		onSQLite("same-nonce-same-grant")},
	{"pruning a row loses its token", "tokens rise, S10",
		file("sqllock/internal/sqlite/sql/raise_floor.sql", "coalesce(", "0 * coalesce("),
		stepped("sqlite/back")},
	{"a minimum hold and a hand-over delay are ignored", "exclusion, S1",
		file("sqllock/internal/postgres/sql/acquire.sql", "l.held_until <= clock_timestamp()", "l.expires_at <= clock_timestamp()"),
		[]suite{{"sqllock", []string{"TestMinHoldKeepsAReleasedLockClosed/postgres-pgx", "TestHandoverDelayFollowsAnExpiryOnly/postgres-pgx"}}}},
	{"the short statement for a free lock ignores the quarantine", "exclusion, S1",
		file("sqllock/internal/postgres/sql/acquire_free.sql", "AND m.quarantined_until <= clock_timestamp()", ""),
		[]suite{{"sqllock", []string{"TestPostgresShortStatementsKeepTheRules"}}}},
	{"a name that is reserved for one waiter is granted to another", "waiters get their turn",
		file("sqllock/internal/postgres/sql/acquire.sql", "l.reserved_for = $9::text::uuid", "l.reserved_for IS NOT NULL"),
		[]suite{{"sqllock", []string{"TestPostgresReleaseWakesOne"}}}},
	{"a sealed grant ignores the quarantine", "exclusion, S4",
		file("sqllock/internal/postgres/sql/acquire_sealed.sql", "AND s.quarantined_until <= s.now AND (l.held_until", "AND (l.held_until"),
		[]suite{{"sqllock", []string{"TestASealedGrantKeepsTheQuarantine/postgres-pgx"}}}},
	{"a sealed grant is made although the store has no record of its TTL", "exclusion, S4",
		file("sqllock/internal/postgres/sql/acquire_sealed.sql", "AND s.ttl_known AND", "AND"),
		[]suite{{"sqllock", []string{"TestASealedGrantKeepsTheQuarantine/postgres-pgx"}}}},
	{"waiters that are alive are removed from the queue", "waiters get their turn",
		file("sqllock/internal/postgres/sql/forget_waiters.sql", "- interval '60 seconds'", ""),
		[]suite{{"sqllock", []string{"TestPostgresForgetsDeadWaitersOnly"}}}},
	{"a hand-over keeps the token", "tokens rise, S2",
		file("sqllock/internal/sqlite/sql/hand_over.sql", "ELSE max(token + 1, m.floor + 1, m.now)", "ELSE max(token, m.floor)"),
		onSQLite("hand-over-grants")},
	{"a hand-over takes a lock that another process holds", "own grant only, S6",
		file("sqllock/internal/sqlite/sql/hand_over.sql", "nonce = ?3 AND token = ?4", "(?3, ?4) IS NOT NULL"),
		onSQLite("hand-over-needs-the-grant")},
	{"after a failover, the new server grants at once", "exclusion, S1",
		file("sqllock/internal/postgres/sql/acquire.sql", "AND s.quarantined_until <= s.now AND (l.held_until", "AND (l.held_until"),
		[]suite{{"sqllock", []string{"TestANewServerGrantsNothingForOneLongestTTL/postgres-pgx"}}}},
	{"a release grants a recorded request on a new server", "exclusion, S1",
		file("sqllock/internal/postgres/sql/release_passing.sql", "AND rowlock_lease_same_epoch(m.epoch)", ""),
		passing("after_a_change_of_server")},
	{"a release grants a recorded request in the quarantine", "exclusion, S1",
		file("sqllock/internal/postgres/sql/release_passing.sql", "AND m.quarantined_until <= clock_timestamp()", ""),
		passing("in_quarantine")},
	{"a release grants a recorded request although the store has no record of its TTL", "exclusion, S4",
		file("sqllock/internal/postgres/sql/release_passing.sql", "AND m.longest_ttl_us >= greatest(n.ttl_us + n.handover_us, n.min_hold_us)", ""),
		passing("for_longer_than_is_known")},
	{"a release grants a recorded request during the minimum hold", "exclusion, S1",
		file("sqllock/internal/postgres/sql/release_passing.sql", "AND o.min_held_until <= clock_timestamp() AND m.", "AND m."),
		passing("while_a_minimum_hold_runs")},
	{"a release grants a recorded request of a waiter whose session has ended", "a crash frees the name",
		file("sqllock/internal/postgres/sql/release_passing.sql", " OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))\n     ORDER BY w.since\n     LIMIT 1\n       FOR UPDATE", " OR true)\n     ORDER BY w.since\n     LIMIT 1\n       FOR UPDATE"),
		passing("whose_session_has_ended,_which_costs_the_next_waiter_nothing")},
	{"the client's clock decides whether a lease has expired", "exclusion, trust ends first, S3",
		in("sqllock/internal/postgres", "Backend.ask", "p.sql[verb]", `strings.ReplaceAll(p.sql[verb], "clock_timestamp()", "'"+time.Now().UTC().Format(time.RFC3339Nano)+"'::timestamptz")`, "strings", "time"),
		stepped("postgres/forward")},
	{"a batch grants a lock that is held", "exclusion, S1",
		file("sqllock/internal/mysql/sql/mysql/acquire_each.sql", "r.held_until <= UTC_TIMESTAMP(6) AND", ""),
		[]suite{{"sqllock/internal/mysql", []string{"TestMySQLABatchLeavesOut/mysql"}}}},
	{"a batch grants locks on another server", "tokens rise, S2, S10",
		file("sqllock/internal/mysql/sql/mysql/acquire_each.sql", "@@server_uuid = ?", "(@@server_uuid = ? OR true)"),
		[]suite{{"sqllock/internal/mysql", []string{"TestMySQLABatchGrantsNothingOnAnotherServer/mysql"}}}},
	{"a batch releases the grants of others", "own grant only, S6",
		file("sqllock/internal/mysql/sql/mysql/release_each.sql", "AND (l.name, l.nonce, l.token) IN (", "AND l.name = l.name OR (l.name, l.nonce, l.token) IN ("),
		[]suite{{"sqllock/internal/mysql", []string{"TestMySQLABatchReleasesOnlyItsGrants/mariadb"}}}},
}
