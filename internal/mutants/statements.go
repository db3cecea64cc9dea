package main

const (
	onPostgres   = "sqllock/internal/postgres"
	onMySQL      = "sqllock/internal/mysql"
	onSQLite     = "sqllock/internal/sqlite"
	locksInPG    = "functions/postgres/00101_locks.sql "
	locksInMySQL = "functions/mysql/00101_locks.sql "
	fenceInPG    = "functions/postgres/00102_fence.sql "
	fenceInMySQL = "functions/mysql/00102_fence.sql "
)

// The function passing returns a suite with cases in which a release must not grant a recorded request.
func passing(scenario string) []suite {
	return of("sqllock", "TestPostgresReleaseDoesNotGrantWhatAcquireWouldNot/"+scenario)
}

// The function calling returns the suite of the tests of the functions for SQL sessions with these names.
func calling(names ...string) []suite { return of("internal/sqlfunctions", names...) }

// statements lists defects in the SQL files that the broken backends of package locktest do not have.
var statements = []mutant{
	// The tokens and times of a row.
	{"tokens depend only on the clock", "tokens rise, S2",
		in(onSQLite, "sql/acquire.sql: max -> min #4/5"), of("internal/clockstep", "TestClockSteps/sqlite/back")},
	{"pruning a row loses its token", "tokens rise, S10",
		in(onSQLite, "sql/raise_floor.sql: max -> min #1/3"), of("internal/clockstep", "TestClockSteps/sqlite/back")},
	{"the short statement for a free lock ignores the quarantine", "exclusion, S1",
		in(onPostgres, "sql/acquire_free.sql: drop term quarantined_until"), of("sqllock", "TestPostgresShortStatementsKeepTheRules")},
	{"after a failover, the new server grants at once", "exclusion, S1",
		in(onPostgres, "sql/acquire.sql: drop term quarantined_until #1/2"), of("sqllock", "TestANewServerGrantsNothingForOneLongestTTL/postgres-pgx")},
	{"a batch grants locks on another server", "tokens rise, S2, S10",
		in(onMySQL, "sql/mysql/acquire_each.sql: drop term server_uuid"), of(onMySQL, "TestMySQLABatchGrantsNothingOnAnotherServer/mysql")},

	// Waiters.
	{"a name that is reserved for one waiter is granted to another", "waiters get their turn",
		in(onPostgres, "sql/acquire.sql: drop term reserved_for #1/2"), of("sqllock", "TestPostgresReleaseWakesOne")},
	{"waiters that are alive are removed from the queue", "waiters get their turn",
		in(onPostgres, "sql/forget_waiters.sql: alive_until - -> +"), of("sqllock", "TestPostgresForgetsDeadWaitersOnly")},
	{"a release grants a recorded request on a new server", "exclusion, S1",
		in(onPostgres, "sql/release_passing.sql: drop term rowlock_lease_same_epoch"), passing("after_a_change_of_server")},
	{"a release grants a recorded request in the quarantine", "exclusion, S1",
		in(onPostgres, "sql/release_passing.sql: drop term quarantined_until"), passing("in_quarantine")},
	{"a release grants a recorded request although the store has no record of its TTL", "exclusion, S4",
		in(onPostgres, "sql/release_passing.sql: drop term longest_ttl_us"), passing("for_longer_than_is_known")},
	{"a release grants a recorded request during the minimum hold", "exclusion, S1",
		in(onPostgres, "sql/release_passing.sql: drop term min_held_until #1/2"), passing("while_a_minimum_hold_runs")},
	{"a release grants a recorded request of a waiter whose session has ended", "a crash frees the name",
		in(onPostgres, "sql/release_passing.sql: drop term alive_until #2/7"), passing("whose_session_has_ended,_which_costs_the_next_waiter_nothing")},

	// Readers.
	{"a transaction takes a lock that readers hold", "exclusion, S1",
		in(onPostgres, "sql/lock_in_tx.sql: drop term held_until"), of("sqllock", "TestInTxExcludesReaders/new/postgres-pgx")},
	{"an exclusive grant keeps the shares in the row", "exclusion, S1",
		in(onMySQL, "sql/mysql/acquire.sql: drop readers ="), of("sqllock", "TestAnExclusiveGrantForgetsTheReaders/acquire/mysql")},
	{"a forced release keeps the shares in the row", "own grant only, S7",
		in(onPostgres, "sql/force_release.sql: drop readers ="), of("sqllock", "TestAnExclusiveGrantForgetsTheReaders/forced_release/postgres-pgx")},
	{"a reader joins with the short statement although a writer waits", "waiters get their turn",
		in(onPostgres, "sql/acquire_shared_free.sql: drop term writer_until #1/3"), of("sqllock", "TestPostgresReadersWithAWaiterUseTheFullStatement")},
	{"a reader replaces the shares of others with the short statement", "exclusion, S1",
		in(onPostgres, "sql/acquire_shared_free.sql: when joins -> false #2/6"), of("sqllock", "TestPostgresReadersWithAWaiterUseTheFullStatement")},
	{"a reader adds its share to an old version of the row", "exclusion, S1",
		in(onPostgres, "sql/acquire_shared.sql: drop FOR UPDATE"), of("sqllock", "TestPostgresReadersKeepEachOther")},

	// Fences.
	{"a sealed grant ignores the quarantine", "exclusion, S4",
		in(onPostgres, "sql/acquire_sealed.sql: drop term quarantined_until"), of("sqllock", "TestASealedGrantKeepsTheQuarantine/postgres-pgx")},
	{"a sealed grant is made although the store has no record of its TTL", "exclusion, S4",
		in(onPostgres, "sql/acquire_sealed.sql: drop term ttl_known"), of("sqllock", "TestASealedGrantKeepsTheQuarantine/postgres-pgx")},
	{"a grant reports that it has sealed, but has not", "S5, S5'",
		in(onSQLite, "sql/seal.sql: drop nonce ="), of("fence", "TestNoStaleWriteBehindASealedGrant/sqlite-wal")},
	{"a check does not lock the mark", "S5",
		in("fence", "sql/postgres/check.sql: drop FOR SHARE"), of("fence", "TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"a check locks the mark only FOR KEY SHARE, which lets a seal change it", "S5",
		in("fence", "sql/postgres/check.sql: FOR SHARE -> FOR KEY SHARE"), of("fence", "TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"CheckHeld accepts a lease that has expired", "own grant only, S7",
		in("fence", "sql/postgres/held.sql: when expires_at -> true"), of("fence", "TestCheckHeldAsksTheDatabaseWhetherTheLeaseIsAlive/postgres")},
	{"a protected table accepts a write without a check", "S5",
		in("migrations", "postgres/00002_fence.sql rowlock_lease_fence_check: if nonces -> false"), of("fence", "TestAProtectedTableTakesCheckedWritesOnly/postgres")},
	{"InTx on MariaDB locks with innodb_snapshot_isolation on", "InTx waits for its lock",
		in(onMySQL, "sql/mysql/lock_in_tx.sql: off -> on"), of(onMySQL, "TestMySQLInTxInAnOldSnapshot/mariadb")},
	{"a token is given without the lock", "tokens rise, S2",
		in("mysqlock", "sql/acquire.sql: if GET_LOCK -> true"), of("mysqlock", "TestATokenIsMadeUnderTheLock/mysql", "TestATokenIsMadeUnderTheLock/mariadb")},

	// The functions for SQL sessions.
	{"a check by SQL accepts any mark", "S5",
		in("migrations", fenceInPG+"rowlock_lease_check: if nonce -> false"), calling("TestACheckRefusesAStaleLeaseAtEveryLevel")},
	{"a check by SQL reads the mark without a lock", "S5",
		in("migrations", fenceInPG+"rowlock_lease_check: drop locked :="), calling("TestASealWaitsForCheckedTransactions")},
	{"a seal by SQL compares tokens of different locks", "S5",
		in("migrations", fenceInPG+"rowlock_lease_seal: coalesce name -> default"), calling("TestASealOfAnotherLockIsRefused")},
	{"lock_in_tx goes on although the lock is held", "exclusion",
		in("migrations", locksInPG+"rowlock_lease_lock_in_tx: if verdict -> true #2/2"), calling("TestLockInTxHoldsTheLockUntilTheTransactionEnds")},
	{"a renewal by SQL does not record a longer TTL", "S1",
		in("migrations", locksInPG+"rowlock_lease_renew: drop call rowlock_lease_do_ttl"), calling("TestTheLongestTTLIsRecorded")},
	{"a check by a procedure accepts any mark", "S5",
		in("migrations", fenceInMySQL+"rowlock_lease_check: drop term sealed_nonce"),
		calling("TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel/mysql", "TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel/mariadb")},
	{"a check by a procedure accepts a snapshot that is older than the seal", "S5'",
		in("migrations", fenceInMySQL+"rowlock_lease_check: elseif seen_nonce -> false"),
		calling("TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel/mysql", "TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel/mariadb")},
	{"a check by a procedure reads the mark without a lock", "S5",
		in("migrations", fenceInMySQL+"rowlock_lease_do_check: drop LOCK IN SHARE MODE"),
		calling("TestASealByAProcedureWaitsForCheckedTransactions/mysql", "TestASealByAProcedureWaitsForCheckedTransactions/mariadb")},
	{"a check by a procedure succeeds outside a transaction", "S5",
		in("migrations", fenceInMySQL+"rowlock_lease_check: if inside -> false"),
		calling("TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel/mysql", "TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel/mariadb")},
	{"a seal by a procedure compares tokens of different locks", "S5",
		in("migrations", fenceInMySQL+"rowlock_lease_seal: coalesce name -> default"), calling("TestASealOfAnotherLockByAProcedureIsRefused")},
	{"procedures grant and release leases inside a transaction", "exclusion, S1",
		in("migrations", locksInMySQL+"rowlock_lease_do_outside: if inside -> false"), calling("TestProceduresOfLeasesFailInsideATransaction")},
	{"begin goes on although the lock is held", "exclusion, S1",
		in("migrations", locksInMySQL+"rowlock_lease_begin: elseif verdict -> true"), calling("TestARefusedBeginLeavesNothing", "TestBeginHoldsTheLockUntilTheTransactionEnds")},
	{"a new server grants at once by SQL", "exclusion, S1",
		in("migrations", locksInMySQL+"rowlock_lease_do_adopt: if epoch -> true"),
		calling("TestTheProceduresBeginTheQuarantineOfANewServer/mysql", "TestTheProceduresBeginTheQuarantineOfANewServer/mariadb")},
	{"a renewal by a procedure does not record a longer TTL", "S1",
		in("migrations", locksInMySQL+"rowlock_lease_renew: if longest_ttl_us -> false"), calling("TestProceduresCompareTheNonce")},
}
