package main

import (
	"slices"
	"strings"
)

// The function root returns the suites of the tests with these names. Tests in virtual time are in package
// internal/simulate, and all others are in the root package.
func root(names ...string) []suite {
	own, simulated := suite{pkg: "."}, suite{pkg: "internal/simulate"}
	for _, name := range names {
		if name == "TestSimulation" || strings.HasPrefix(name, "TestEverySchedule") {
			simulated.names = append(simulated.names, name)
		} else {
			own.names = append(own.names, name)
		}
	}
	return slices.DeleteFunc([]suite{own, simulated}, func(s suite) bool { return len(s.names) == 0 })
}

// engine lists defects in the Go code.
var engine = []mutant{
	// Trust in a lease.
	{"the deadline of a grant counts from the reply, not from the request", "trust ends first, S3",
		in(".", "acquisition.replied: swap trustFrom and now of granted"), root("TestDeadlineCountsFromBeforeTheSend", "TestEveryScheduleKeepsThePromises")},
	{"the deadline of a renewal counts from the reply, not from the request", "trust ends first, S3",
		in(".", "reply.settle: swap sent and now of confirm"), root("TestSimulation")},
	{"after a wait, a grant is trusted although the renewal that confirms it failed", "trust ends first, S3",
		in(".", "acquisition.confirmIfLate: return err -> nil"), root("TestAGrantWhoseConfirmationFailsIsNotTrusted")},
	{"the maximum hold counts from before a long wait", "a hold is limited",
		in(".", "acquisition.replied: if Since -> false"), root("TestMaxHoldDoesNotCountTheWait")},
	{"a grant without a wait is confirmed by an extra renewal", "cheap to hold",
		in(".", "acquisition.plain: drop term trustFrom"), root("TestASlowAcquireIsNotProven")},
	{"trust is longer than the lease", "trust ends first, S3, S4",
		in(".", "Lease.left: term - -> + #1/2"), root("TestHangingStoreDelaysNoLoss", "TestEveryScheduleKeepsThePromises", "TestSimulation")},
	{"a late renewal revives a lease, and a getter relies on the timer", "trust ends first, S7, S8",
		in(".", "Lease.expire: if left -> true"), root("TestAReplyAfterAPauseRevivesNothing", "TestGettersAreNotLateAfterAPause")},
	{"the context of a lease outlives its trust", "trust ends first, S8",
		in(".", "Lease.ended: drop call end"), root("TestHangingStoreDelaysNoLoss", "TestSimulation")},
	{"no timer enforces the deadline", "trust ends first, S8",
		in(".", "renewals.due: if late -> false"), root("TestHangingStoreDelaysNoLoss", "TestSimulation")},
	{"only the monotonic clock is read", "trust ends first, S8",
		in("internal/clock", "Instant.Since: max -> min #2/2", "Instant.Since: monotonic + -> -"), root("TestSuspendPastTheDeadlineEndsTrust")},

	// Renewals.
	{"a renewal without an answer counts as successful", "outcomes are distinguished, S3",
		in(".", "reply.outcome: driver.Unknown -> driver.Renewed"), root("TestHangingStoreDelaysNoLoss", "TestEveryScheduleKeepsThePromises", "TestSimulation")},
	{"a renewal without an answer counts as a loss", "outcomes are distinguished",
		in(".", "reply.outcome: driver.Unknown -> driver.Lost"), root("TestLostRenewalRepliesAreTriedAgain", "TestSimulation")},
	{"a lease that the store reports as lost is kept", "outcomes are distinguished, S7",
		in(".", "reply.settle: driver.Lost -> driver.Unknown"), root("TestTakenLeaseIsLostWithTheNextRenewal", "TestSimulation")},
	{"Renew reports no error without an answer", "outcomes are distinguished",
		in(".", "renewals.renewNow: return opError -> nil"), root("TestRenewReportsItsCause")},
	{"one failing lease makes its whole batch fail", "one bad lease harms no other",
		in(".", "batchRun.renew: case part -> false"), root("TestALeaseThatCannotBeRenewedIsLostAlone")},
	{"a lease with a short TTL is renewed in one request with leases of a long TTL", "one bad lease harms no other",
		in(".", "batches: drop term limit"), root("TestAShortLeaseDoesNotShortenTheRequestsOfOthers")},
	{"a failed renewal is retried without a delay", "bounded",
		in(".", "reply.settle: max -> min"), root("TestAnOutageCostsFewRenewals")},
	{"a renewal is sent for a lease that was lost while it waited to be renewed", "a crash frees the name",
		in(".", "renewals.renew: return over -> false"), root("TestALostLeaseInTheRenewalQueueIsNotRenewed")},
	{"Renew lets a second renewal of the lease begin at the same time", "cheap to hold",
		in(".", "renewals.due: drop asking ="), root("TestRenewStartsNoSecondRequestInTheBackground")},

	// Releases and hand-overs.
	{"a release reports its own result, and no earlier loss", "release works",
		in(".", "release.run: if before -> true"), root("TestSimulation")},
	{"a release without an answer counts as successful", "release works, outcomes are distinguished",
		in(".", "Lease.releaseInStore: case err -> true"), root("TestAReleaseWithoutAReplyIsRetried", "TestSimulation")},
	{"a release that was sent twice reports its own effect as a loss", "outcomes are distinguished",
		in(".", "Lease.releaseInStore: drop doubtful ="), root("TestAReleaseDoesNotReportItsOwnEffectAsALoss", "TestSimulation")},
	{"a release that got no answer is not retried", "release works",
		in(".", "Lease.releaseInStore: drop call resolve"), root("TestAReleaseWithoutAReplyIsRetried", "TestAFailedSealKeepsNoMinimumHold")},
	{"a minimum hold applies to a lease that no caller received", "nothing is left behind",
		in(".", "Lease.leftover: drop MinHold ="), root("TestAFailedSealKeepsNoMinimumHold")},
	{"a batch of releases without an answer counts as successful", "release works, outcomes are distinguished",
		in(".", "releaseTogether: return errs -> nil"), root("TestAllRepeatsABatchWithoutReply")},
	{"a name that has a waiter is released in a batch, although it was to be handed over", "nothing is left behind",
		in(".", "releaseAll: drop term to"), root("TestABatchOfReleasesHandsOver")},
	{"a release stops when its context is cancelled", "release works",
		in(".", "Lease.releaseOnce: drop WithoutCancel"), root("TestReleaseAlwaysWorks")},
	{"a maximum hold ends the trust but not the lease in the store", "a crash frees the name",
		in(".", "settings.termFor: if hold -> true"), root("TestMaxHoldFreesTheName")},
	{"Do returns nil although its function never ran", "outcomes are distinguished",
		in(".", "Locker.do: return err -> nil #2/2"), root("TestResultOfDo")},
	{"the release finds that the lease was lost, and does not report the loss", "release works",
		in(".", "release.run: if found -> false"), root("TestReleaseReportsALossThatItNotices")},
	{"the deadline passed before the release, and the release does not report the loss", "release works",
		in(".", "Lease.beginRelease: drop call ended"), root("TestReleaseReportsALossByTheClock")},
	{"after the maximum hold, a session lock is not released", "a crash frees the name",
		in(".", "Lease.endSession: if Session -> false"), root("TestMaxHoldReleasesASessionLock")},
	{"the longest minimum hold is refused", "outcomes are distinguished",
		in(".", "settings.check: minHold > -> >="), root("TestTheBoundsOfOptionsWork")},
	{"a hand-over of a lost lease is reported as unknown, not as lost", "outcomes are distinguished",
		in(".", "answered: drop term Is"), root("TestALostLeaseIsNotHandedOver")},
	{"a lease that could not be handed over is not released", "release works",
		in(".", "release.handOverOrRelease: return releaseInStore -> nil #2/2"), root("TestHandOverOfUnknownOutcome", "TestEveryScheduleOfAHandOver")},
	{"a hand-over without an answer counts as not executed", "outcomes are distinguished",
		in(".", "release.handOverOrRelease: unknown > -> <="), root("TestHandOverOfUnknownOutcome")},
	{"a waiter sends its next request although a release is handing the name over to it", "nothing is left behind",
		in(".", "place.stopsResting: return false -> true"), root("TestEveryScheduleOfAHandOver")},
	{"a name is handed over to a waiter whose own request may have been granted", "outcomes are distinguished",
		in(".", "waiter.offer: drop term requests"), root("TestNoHandOverToAWaiterWithAMissingReply")},

	// Acquiring and waiting.
	{"an acquire without an answer is forgotten", "nothing is left behind, L3",
		in(".", "acquisition.giveUp: case requests -> false"), root("TestAnAcquireThatGaveUpIsReleased", "TestSimulation")},
	{"an acquire without an answer is not sent again", "nothing is left behind, S11",
		in(".", "acquisition.replied: if nested -> true #2/2"), root("TestARepeatedAcquireReturnsTheSameGrant")},
	{"a request of a refused batch that got no answer is forgotten", "nothing is left behind, L3",
		in(".", "gathering.tryEach: drop call giveUp"), root("TestARefusedBatchLeavesNoGrant")},
	{"a request of a batch that got no answer is not repeated", "nothing is left behind, S13",
		in(".", "gathering.tryEach: case next -> false #1/2", "gathering.tryEach: case next -> false #2/2"), root("TestAllRepeatsABatchWithoutReply")},
	{"a waiter that gives up leaves its recorded request to a waiter that wants another grant", "nothing is left behind, S11",
		in(".", "place.leaveToNext: drop term sameRequest"), root("TestAWaiterLeavesItsRecordedRequestToTheNext")},
	{"a waiter that gives up loses the wake-up that it has just received", "waiters get their turn",
		in(".", "place.leaveToNext: if woken -> false"), root("TestAWakeUpOfAWaiterThatGivesUpIsNotLost")},
	{"a late duplicate of an acquire is not released", "nothing is left behind, L3",
		in(".", "release.run: if requests -> false"), root("TestALateDuplicateIsReleased")},
	{"only one release is sent for a request that may still arrive", "nothing is left behind, L3",
		in(".", "janitor.attempt: age > -> <= #1/2"), root("TestAnAcquireThatGaveUpIsReleased")},
	{"a release in the background notifies no waiter", "waiters get their turn",
		in(".", "janitor.tell: drop call wake"), root("TestAReleaseInTheBackgroundWakesTheWaiter")},
	{"a grant that arrived after its deadline is used", "trust ends first, S3",
		in(".", "acquisition.granted: drop term left"), root("TestSimulation")},
	{"a grant that arrived after its deadline is not released", "nothing is left behind, L3",
		in(".", "acquisition.granted: drop call add #2/2"), root("TestGrantsThatComeTooLateEnd")},
	{"an unreachable store is reported as held", "outcomes are distinguished",
		in(".", "acquisition.failure: ErrUnavailable -> ErrHeld"), root("TestHangingStoreEndsTheCall", "TestSimulation")},
	{"a name that is held is reported as unavailable", "outcomes are distinguished",
		in(".", "HeldError.Is: ErrHeld -> ErrUnavailable"), root("TestWaitBoundsTheWaiting", "TestSimulation")},
	{"a request has a long time limit for a store that does not answer", "bounded",
		in(".", "callTimeout: ttl / -> *", "callTimeout: min -> max"), root("TestHangingStoreEndsTheCall")},
	{"a fenced acquire seals nothing", "S5, S5'",
		in(".", "acquisition.sealed: if fenced -> true"), root("TestFailedSealReleases")},
	{"a lease that could not seal is used", "S5",
		in(".", "acquisition.sealed: if err -> true #2/2"), root("TestFailedSealReleases")},
	{"a lease that could not seal is not released", "S5",
		in(".", "acquisition.sealed: drop err = #2/2"), root("TestFailedSealReleases")},
	{"a writer that has given up keeps readers out", "waiters get their turn",
		in(".", "acquisition.replied: if Readers -> false"), root("TestReadersPassAWriterThatGivesUp")},

	// Fences.
	{"a check accepts any mark", "S5, S9",
		in("fence", "mark.isOf: return nonce -> true"), of("fence", "TestTheSameTokenOfAnotherGrantIsRefused/postgres", "TestNoStaleWriteAtAnyIsolationLevel/postgres")},
	{"a seal raises the mark to an older token", "S5, S9",
		in("fence", "claim.mayRaise: case mint -> false", "sql/postgres/raise.sql: drop term token"), of("fence", "TestSealIsStrict/postgres")},
	{"a seal writes nothing", "S5'",
		in("fence", "marks.lift: return exec -> nil #2/2"), of("fence", "TestSealIsStrict/postgres", "TestDoFenced/postgres")},
	{"a check of SQLite does not lock the file", "S5",
		in("fence", "sqlite.check: return exec -> nil"), of("fence", "TestNoStaleWriteAtAnyIsolationLevel/sqlite-wal")},
	{"tokens of different locks or stores are compared", "S5",
		in("fence", "claim.mayRaise: case domain -> false"), of("fence", "TestTokensOfTwoDomainsAreNotCompared/postgres")},
	{"a check that MariaDB rolls back, because the mark is newer than the snapshot, is not repeated", "L3",
		in("fence", "mysql.again: return true -> false"), of("fence", "TestASnapshotFromBeforeTheSealIsRefused/mariadb-snapshot-isolation")},

	// The tokens of package mysqlock.
	{"a run of the server is known by its second only", "tokens rise, S2",
		in("mysqlock", "mint.serves: drop term number"), of("mysqlock", "TestNextMint", "TestTokensRiseWhenTheClockIsSetBack/mysql", "TestTokensRiseWhenTheClockIsSetBack/mariadb")},
	{"a run of the server is known by its numbers only", "tokens rise, S2",
		in("mysqlock", "mint.serves: drop term run"), of("mysqlock", "TestNextMint", "TestTokensRiseWhenTheClockIsSetBack/mysql", "TestTokensRiseWhenTheClockIsSetBack/mariadb")},
	{"another run begins below the reserved tokens", "tokens rise, S2",
		in("mysqlock", "mint.next: reserved + -> -"), of("mysqlock", "TestNextMint")},
	{"another run does not begin above the clock", "tokens rise, S2",
		in("mysqlock", "mint.next: max -> min"), of("mysqlock", "TestNextMint", "TestTokensRiseAfterARestore/mysql", "TestTokensRiseAfterARestore/mariadb")},
	{"a session grants tokens that are not reserved", "tokens rise, S2",
		in("mysqlock", "mint.of: return token -> true"), of("mysqlock", "TestNextMint", "TestReservedTokensRunOut/mysql", "TestReservedTokensRunOut/mariadb")},

	// The lease that a process inherits from its "rowlock run".
	{"a child trusts its lease for its own TTL, not for what is left to its parent", "trust ends first, S3",
		in("internal/inherit", "Backend.Acquire: min -> max"), of("internal/inherit", "TestAChildTrustsNoLongerThanItsParent")},
	{"the parent answers a child without a renewal", "trust ends first, S3",
		in("internal/inherit", "Server.renew: drop err = #1/2"), of("internal/inherit", "TestAChildTrustsNoLongerThanItsParent")},
	{"a renewal answers a request of a child that arrived after it was sent", "trust ends first, S3",
		in("internal/inherit", "Server.renew: drop next ="), of("internal/inherit", "TestOneRenewalAnswersManyChildren")},
	{"the end of the connection to the parent does not end the lease of the child", "trust ends first, S8",
		in("internal/inherit", "connection.read: drop defer end"), of("internal/inherit", "TestTheEndOfTheLeaseEndsTheConnections")},
	{"a child takes the answer to its earlier request for that to a later one", "trust ends first, S3",
		in("internal/inherit", "connection.ask: drop last++"), of("internal/inherit", "TestALateAnswerDoesNotCount")},
}
