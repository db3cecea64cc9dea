package main

// onSQLite is cases of the conformance suite, on a file.
func onSQLite(cases ...string) []suite {
	s := suite{pkg: "sqllock"}
	for _, c := range cases {
		s.names = append(s.names, "TestConformanceOfSQLite/"+c)
	}
	return []suite{s}
}

// stepped is what befalls a database whose clock is set.
func stepped(names ...string) []suite {
	s := suite{pkg: "internal/clockstep"}
	for _, name := range names {
		s.names = append(s.names, "TestClockSteps/"+name)
	}
	return []suite{s}
}

// rows has the defects of the lease rows.
var rows = []mutant{
	{"a renewal compares no token", "own grant only, S7", "sqllock/internal/sqlite/sql/renew.sql",
		"AND l.nonce = a.nonce AND l.token = a.token AND", "AND l.nonce = a.nonce AND",
		onSQLite("renewal-compares-token")},
	{"a renewal compares no nonce", "own grant only, S7", "sqllock/internal/sqlite/sql/renew.sql",
		"AND l.nonce = a.nonce AND l.token", "AND l.nonce IS NOT NULL AND l.token",
		onSQLite("renewal-compares-nonce")},
	{"a renewal revives what has expired", "own grant only, S7", "sqllock/internal/sqlite/sql/renew.sql",
		"AND l.expires_at > a.now", "",
		onSQLite("renewal-does-not-revive", "loss-is-told")},
	{"a release compares no nonce", "own grant only, S6", "sqllock/internal/sqlite/sql/release.sql",
		"AND nonce = ?3 AND", "AND ?3 IS NOT NULL AND",
		onSQLite("release-compares-nonce", "release-by-nonce")},
	{"a release compares no token", "own grant only, S6", "sqllock/internal/sqlite/sql/release.sql",
		"AND nonce = ?3 AND ?4 IN (0, token)", "AND nonce = ?3 AND ?4 IS NOT NULL",
		onSQLite("release-compares-token")},
	{"a release forgets the row", "tokens rise, S2, S10", "sqllock/internal/sqlite/sql/release.sql",
		"UPDATE rowlock_lease\n   SET nonce = NULL," + and + "\n WHERE namespace = ?1 AND name = ?2\n   AND nonce = ?3",
		"DELETE FROM rowlock_lease /*" + and + "*/\n WHERE namespace = ?1 AND name = ?2\n   AND ?5 IS NOT NULL AND nonce = ?3",
		stepped("sqlite/back")},
	{"tokens are the clock's alone", "tokens rise, S2", "sqllock/internal/sqlite/sql/acquire.sql",
		"ELSE max(l.token + 1, excluded.token) END", "ELSE excluded.token END",
		stepped("sqlite/back")},
	{"one nonce gets two tokens", "nothing is left behind, S11", "sqllock/internal/sqlite/sql/acquire.sql",
		"SET token = CASE WHEN l.nonce = excluded.nonce THEN l.token ELSE max(l.token + 1, excluded.token) END", "SET token = max(l.token + 1, excluded.token)",
		onSQLite("same-nonce-same-grant")},
	{"a pruned row takes its token along", "tokens rise, S10", "sqllock/internal/sqlite/sql/raise_floor.sql",
		"SET floor = max(floor, coalesce(", "SET floor = max(floor, 0 * coalesce(",
		stepped("sqlite/back")},
	{"a minimum hold and a hand-over delay are ignored", "exclusion, S1", "sqllock/internal/postgres/sql/acquire.sql",
		"AND (l.held_until <= clock_timestamp() OR", "AND (l.expires_at <= clock_timestamp() OR",
		[]suite{{"sqllock", []string{"TestMinHoldKeepsAReleasedLockClosed/postgres-stdlib", "TestHandoverDelayFollowsAnExpiryOnly/postgres-stdlib"}}}},
	{"a name that is reserved for one waiter is granted to another", "waiters get their turn", "sqllock/internal/postgres/sql/acquire_waiting.sql",
		"OR l.nonce IS NULL AND l.reserved_for = $9::text::uuid)\n       FOR UPDATE", "OR l.nonce IS NULL AND l.reserved_for IS NOT NULL)\n       FOR UPDATE",
		[]suite{{"sqllock", []string{"TestPostgresReleaseWakesOne"}}}},
	{"a sealed grant of a new name ignores the quarantine", "exclusion, S4", "sqllock/internal/postgres/sql/acquire_sealed.sql",
		"AND s.ttl_known AND s.quarantined_until <= s.now\n       AND s.token IS NULL", "AND s.ttl_known\n       AND s.token IS NULL",
		[]suite{{"sqllock", []string{"TestASealedGrantKeepsTheQuarantine/postgres-stdlib"}}}},
	{"a sealed grant of a new name is not on record", "exclusion, S4", "sqllock/internal/postgres/sql/acquire_sealed.sql",
		"AND s.ttl_known AND s.quarantined_until <= s.now\n       AND s.token IS NULL", "AND s.quarantined_until <= s.now\n       AND s.token IS NULL",
		[]suite{{"sqllock", []string{"TestASealedGrantKeepsTheQuarantine/postgres-stdlib"}}}},
	{"waiters that live are forgotten", "waiters get their turn", "sqllock/internal/postgres/sql/forget_waiters.sql",
		"- interval '60 seconds'", "",
		[]suite{{"sqllock", []string{"TestPostgresForgetsDeadWaitersOnly"}}}},
	{"a hand-over keeps the token", "tokens rise, S2", "sqllock/internal/sqlite/sql/hand_over.sql",
		"SET token = CASE WHEN nonce = ?6 THEN token ELSE max(token + 1, m.floor + 1, m.now) END,", "SET token = max(token, m.floor),",
		onSQLite("hand-over-grants")},
	{"a hand-over takes what another holds", "own grant only, S6", "sqllock/internal/sqlite/sql/hand_over.sql",
		"OR nonce = ?3 AND token = ?4 AND expires_at > m.now", "OR (?3, ?4) IS NOT NULL AND expires_at > m.now",
		onSQLite("hand-over-needs-the-grant")},
	{"another server grants at once", "exclusion, S1", "sqllock/internal/postgres/sql/acquire.sql",
		"WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now\n       AND (l.held_until", "WHERE s.same_epoch AND s.ttl_known\n       AND (l.held_until",
		[]suite{{"sqllock", []string{"TestANewServerGrantsNothingForOneLongestTTL/postgres-stdlib"}}}},
	{"the client's clock judges", "exclusion, trust ends first, S3", "sqllock/internal/postgres/backend.go",
		"\t\"sync/atomic\"\n" + and + "found, late := false, false\n\terr := p.run(ctx, args, func(args []any) (err error) {\n\t\tfound, err = sqlbase.QueryOne(ctx, p.q, p.sql[verb], args, dest...)",
		"\t\"strings\"\n\t\"sync/atomic\"\n\t\"time\"\n" + and + "clock := \"'\" + time.Now().UTC().Format(time.RFC3339Nano) + \"'::timestamptz\"\n\tfound, late := false, false\n\terr := p.run(ctx, args, func(args []any) (err error) {\n\t\tfound, err = sqlbase.QueryOne(ctx, p.q, strings.ReplaceAll(p.sql[verb], \"clock_timestamp()\", clock), args, dest...)",
		stepped("postgres/forward")},
}
