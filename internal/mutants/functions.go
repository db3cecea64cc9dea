package main

// The function calling returns the suite of the tests of the functions for SQL sessions with these names.
func calling(names ...string) []suite { return []suite{{"internal/sqlfunctions", names}} }

// functions lists defects in the functions for SQL sessions. Their statements are those of the backends, which have
// defects of their own.
var functions = []mutant{
	{"a check by SQL accepts any mark", "S5",
		file("migrations/functions/postgres/00102_fence.sql", "IF mark.nonce IS DISTINCT FROM nonce::text OR nonce IS NULL THEN", "IF mark.nonce IS NULL THEN"),
		calling("TestACheckRefusesAStaleLeaseAtEveryLevel")},
	{"a check by SQL reads the mark without a lock", "S5",
		file("migrations/functions/postgres/00102_fence.sql", "locked := FOUND", "locked := true"),
		calling("TestASealWaitsForCheckedTransactions")},
	{"a seal by SQL compares tokens of different locks", "S5",
		file("migrations/functions/postgres/00102_fence.sql", "|| coalesce(name, resource)", "|| resource"),
		calling("TestASealOfAnotherLockIsRefused")},
	{"lock_in_tx goes on although the lock is held", "exclusion",
		file("migrations/functions/postgres/00101_locks.sql", "IF verdict = 'locked' THEN", "IF verdict <> '' THEN"),
		calling("TestLockInTxHoldsTheLockUntilTheTransactionEnds")},
	{"a renewal by SQL does not record a longer TTL", "S1",
		file("migrations/functions/postgres/00101_locks.sql", "PERFORM rowlock_lease_do_ttl(ttl_us); FOR try", "FOR try"),
		calling("TestTheLongestTTLIsRecorded")},
}
