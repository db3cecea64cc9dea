package main

// The function behind returns the suite of the tests of package fence with these names.
func behind(names ...string) []suite { return []suite{{"fence", names}} }

// fences lists defects in the code that rejects stale writers.
var fences = []mutant{
	{"a check compares tokens instead of nonces, and accepts an equal or a larger token", "S5, S9",
		in("fence", "mark.isOf", "m.nonce == c.nonce", "m.token <= c.token"),
		behind("TestTheSameTokenOfAnotherGrantIsRefused/postgres")},
	{"a check accepts any mark", "S5",
		in("fence", "mark.isOf", "m.nonce == c.nonce", `m.nonce != "" || m.nonce == c.nonce`),
		behind("TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"a check does not lock the mark", "S5",
		file("fence/sql/postgres/check.sql", "FOR SHARE", ""),
		behind("TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"a check locks the mark only FOR KEY SHARE, which lets a seal change it", "S5",
		file("fence/sql/postgres/check.sql", "FOR SHARE", "FOR KEY SHARE"),
		behind("TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"a check reads the mark outside the transaction", "S5",
		in("fence", "postgres.check", "for _, r := range", `if ctx.Value("own") == nil {
			ctx = context.WithValue(ctx, "own", true)
			return p.own(ctx, func(q querier) error { return p.check(ctx, q, c) })
		}
		for _, r := range`),
		behind("TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"a seal raises the mark to an older token", "S5, S9",
		both(
			in("fence", "claim.mayRaise", "m.token >= c.token", "m.token < 0"),
			file("fence/sql/postgres/raise.sql", "f.token < excluded.token AND", "")),
		behind("TestSealIsStrict/postgres")},
	{"a seal writes nothing", "S5'",
		in("fence", "marks.lift", `return true, q.exec(ctx, m.sql["raise"]`, `return false, nil; return true, q.exec(ctx, m.sql["raise"]`),
		behind("TestSealIsStrict/postgres", "TestDoFenced/postgres")},
	{"a grant reports that it has sealed, but has not", "S5, S5'",
		file("sqllock/internal/sqlite/sql/seal.sql", "SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain,", "SET"),
		behind("TestNoStaleWriteBehindASealedGrant/sqlite-wal")},
	{"CheckHeld accepts a lease that has expired", "own grant only, S7",
		file("fence/sql/postgres/held.sql", "l.expires_at > clock_timestamp()", "l.expires_at IS NOT NULL"),
		behind("TestCheckHeldAsksTheDatabaseWhetherTheLeaseIsAlive/postgres")},
	{"a check of SQLite does not lock the file", "S5",
		file("fence/sql/sqlite/lock.sql", "UPDATE rowlock_lease_fence SET token = token", "SELECT token FROM rowlock_lease_fence"),
		behind("TestNoStaleWriteAtAnyIsolationLevel/sqlite-wal")},
	{"tokens of different locks or stores are compared", "S5",
		in("fence", "claim.mayRaise", "m.domain != c.domain", "m.domain != c.domain && c.token < 0"),
		behind("TestTokensOfTwoDomainsAreNotCompared/postgres")},
	{"a protected table accepts a write without a check", "S5",
		file("migrations/postgres/00002_fence.sql", "nonces IS NULL", "nonces IS NULL AND false"),
		behind("TestAProtectedTableTakesCheckedWritesOnly/postgres")},
}
