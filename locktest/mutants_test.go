package locktest

import (
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// mutants returns stores with the defects that the author of a backend may introduce.
func mutants() []mutant {
	list := []mutant{
		// Acquire.
		{"never excludes", plain[neverExcludes], []string{"excludes"}},
		{"reads first and writes later", plain[racy], []string{"history"}},
		{"reports a held name with another error", plain[heldAsPlainError], []string{"excludes", "wait-is-bounded", "context-ends-a-wait"}},
		{"reports held for every error", plain[errorsAsHeld], []string{"ended-context"}},
		{"never grants to a waiter", plain[refusesWhoWaits], []string{"waiting-asks-the-same"}},
		{"ignores the context", plain[ignoresContext], []string{"ended-context"}},
		{"leaves a goroutine with each grant", newLeaky, []string{"no-goroutine-left"}},
		{"gives the same nonce another token", plain[sameNonceNewToken], []string{"same-nonce-same-grant"}},
		{"refuses the same nonce", plain[sameNonceRefused], []string{"same-nonce-same-grant", "acquire-reply-lost"}},
		{"does not extend for the same nonce", newRemembering, []string{"same-nonce-counts-anew", "same-nonce-after-release"}},

		// Times.
		{"grants half the time", plain[halfTTL], []string{"lease-lasts", "trust-ends-first"}},
		{"grants ten times the time", plain[tenfoldTTL], []string{"refusal-tells-until-when", "maximum-hold-frees"}},
		{"never shortens a lease", plain[neverShortens], []string{"renewal-shortens"}},
		{"never lets a lease expire", plain[immortal], []string{"lease-ends", "crash-frees", "maximum-hold-frees"}},
		{"knows no minimum hold", plain[noMinimumHold], []string{"minimum-hold"}},
		{"knows no hand-over delay", plain[noHandOverDelay], []string{"hand-over-delay"}},
		{"keeps the hand-over delay after a release", plain[delayAfterRelease], []string{"no-hand-over-delay-after-release"}},

		// Tokens.
		{"gives every grant one token", tokens(constant), []string{"tokens-rise-after-release"}},
		{"starts with token zero", tokens(fromZero), []string{"tokens-rise-after-release"}},
		{"restarts the count after a release", tokens(restartsAfterRelease), []string{"tokens-rise-after-release", "history"}},
		{"restarts the count after an expiry", tokens(restartsAfterExpiry), []string{"tokens-rise-after-expiry"}},
		{"restarts the count after a prune", tokens(restartsAfterPrune), []string{"tokens-rise-after-prune"}},
		{"changes the token with a renewal", tokens(changesWithRenewal), []string{"token-stays"}},
		{"has no tokens and never excludes", newTokenless(plain[neverExcludes]), []string{"excludes"}},
		{"has no tokens, reads first and writes later", newTokenless(plain[racy]), []string{"history"}},
		{"has no tokens and does not declare it", undeclared, []string{"tokens-rise-after-release", "release-frees"}},

		// Renewal.
		{"renews an expired grant", plain[renewsExpired], []string{"renewal-does-not-revive", "loss-is-told", "loss-ends-the-work"}},
		{"grants with a renewal", plain[renewsFree], []string{"renewal-does-not-insert", "renewal-after-release"}},
		{"renews by token only", newNonceless(true, false), []string{"renewal-compares-nonce"}},
		{"renews by nonce only", plain[renewsAnyToken], []string{"renewal-compares-token"}},
		{"reports renewed and does nothing", plain[renewsNothing], []string{"renewal-extends", "lease-is-kept"}},
		{"renews the first of a batch only", plain[renewsFirst], []string{"leases-are-kept-together"}},
		{"renews at most fifty", plain[renewsFifty], []string{"renewal-of-many"}},
		{"loses all when one of them was released", plain[renewsAllOrNone], []string{"renewal-beside-release"}},
		{"gives the outcomes in another order", plain[renewsReversed], []string{"renewal-by-position"}},
		{"renews a grant once", newRenewsOnce, []string{"renewal-reply-lost"}},

		// Release.
		{"releases by token only", newNonceless(false, true), []string{"release-compares-nonce"}},
		{"releases by nonce only", plain[releasesAnyToken], []string{"release-compares-token"}},
		{"releases by name only", plain[releasesByName], []string{"release-by-nonce", "release-too-late", "loss-harms-nobody", "history"}},
		{"rejects a repeated release", newReleasesOnce, []string{"release-repeats"}},
		{"does not release", plain[releasesNothing], []string{"release-frees", "waiter-gets-it", "waiters-queue", "close-releases", "release-reply-lost"}},
		{"does not release without a token", plain[needsToken], []string{"release-by-nonce", "acquire-given-up"}},
		{"accepts a release without a grant", plain[releasesAll], []string{"release-of-nothing"}},

		// Hand-over.
		{"frees the name between two holders", plain[freesBetween], []string{"hand-over-excludes", "hand-over-too-late", "hand-over-keeps-the-minimum-hold"}},
		{"reports a hand-over that did not happen", plain[handsNothing], []string{"hand-over-grants", "hand-over-needs-the-grant", "hand-over-excludes"}},
		{"keeps the token in a hand-over", plain[handsTheToken], []string{"hand-over-grants", "hand-over-reply-lost"}},
		{"hands over any grant", plain[handsAnything], []string{"hand-over-needs-the-grant", "hand-over-too-late", "hand-over-repeats"}},
		{"hands over an expired grant", plain[handsExpired], []string{"hand-over-too-late"}},
		{"rejects a repeated hand-over", plain[handsOnce], []string{"hand-over-repeats", "hand-over-reply-lost"}},
		{"does not extend the grant of a repeated hand-over", plain[handsNoAnew], []string{"hand-over-repeats"}},
		{"hands over during the minimum hold", plain[handsMinimumHold], []string{"hand-over-keeps-the-minimum-hold"}},

		// Recorded requests.
		{"grants a withdrawn request", newLeaves(leavingFlaws{keeps: true}), []string{"left-request-is-withdrawn"}},
		{"grants a recorded request with another nonce", newLeaves(leavingFlaws{misnames: true}), []string{"left-request-is-granted"}},
		{"grants a request that it did not report as recorded", newLeaves(leavingFlaws{denies: true}), []string{"left-request-is-withdrawn"}},

		// Several names.
		{"keeps what a call gives back", plain[releasesNothing], []string{"all-or-none", "at-most-n"}},
		{"never excludes a slot", plain[neverExcludes], []string{"at-most-n", "all-or-none"}},
		{"never releases what a lost reply granted", plain[keepsLostGrants], []string{"slot-reply-lost"}},

		{"grants a held name in a batch", batchesWith[batchOverlaps], []string{"batch"}},
		{"mixes up the grants of a batch", batchesWith[batchMixesUp], []string{"batch"}},
		{"forgets the nonces of a batch", batchesWith[batchForgets], []string{"batch"}},
		{"releases the grants of others in a batch", batchesWith[batchEndsAnything], []string{"batch"}},
		{"releases nothing in a batch", batchesWith[batchReleasesNothing], []string{"batch", "all-or-none"}},
		{"reports that a batch released a grant of others", batchesWith[batchPretends], []string{"batch"}},

		// Readers and writers.
		{"grants a share beside a writer", plain[sharesAlways], []string{"shared-keeps-out"}},
		{"grants a writer the name beside readers", plain[writesAlways], []string{"shared-keeps-out"}},
		{"grants one share at a time", plain[sharesAlone], []string{"shared-grants-share", "shared-waiters-wake", "shared-waiter-wakes-the-next"}},
		{"grants waiting readers one share at a time", plain[sharesToOneWaiter], []string{"shared-waiters-wake", "shared-waiter-wakes-the-next"}},
		{"notifies one waiting reader", newWakesOne, []string{"shared-waiter-wakes-the-next"}},
		{"replaces the shares of other readers", shares(overwrites), []string{"shared-grants-share"}},
		{"leaves the name closed after the last release of a share", shares(staysClosed), []string{"shared-keeps-out"}},
		{"reports that a share was renewed that has ended", shares(renewsEnded), []string{"share-expires-alone"}},
		{"ends all shares with one release", shares(endsAll), []string{"shared-grants-share", "shared-keeps-out"}},
		{"refuses the same share", plain[refusesTheSameShare], []string{"shared-same-nonce"}},
		{"counts the same share twice", shares(countsTwice), []string{"shared-same-nonce"}},
		{"does not release a share without a token", plain[needsShareToken], []string{"shared-reply-lost"}},
		{"gives each reader a token of its own", shares(tokenForEach), []string{"shared-epoch-token"}},
		{"gives readers the token of the writer before them", shares(tokenOfWriterBefore), []string{"shared-epoch-token"}},
		{"gives a writer the token of the readers before it", shares(tokenForWriterAfter), []string{"shared-epoch-token", "shared-forced-release"}},
		{"ends all shares when one expires", shares(expiresAll), []string{"share-expires-alone"}},
		{"keeps the name closed for an expired share", shares(keepsExpired), []string{"share-expires-alone"}},
		{"lets readers pass a waiting writer", plain[reservesNothing], []string{"writer-is-not-passed", "writer-keeps-readers-out"}},
		{"lets readers pass a waiting writer after the last release", plain[reservesUntilTheRelease], []string{"writer-keeps-readers-out"}},
		{"refuses the same share while a writer waits", plain[reservesForEver], []string{"writer-keeps-readers-out"}},
		{"keeps readers out for a writer that has given up", plain[keepsReservations], []string{"writer-that-gives-up-lets-readers-in", "writer-keeps-its-own-reservation"}},
		{"lets readers in when one of two writers gives up", newForgetsEveryWriter, []string{"writer-keeps-its-own-reservation"}},
		{"forces no release of readers", plain[forcesNoShares], []string{"shared-forced-release"}},
		{"counts no readers", plain[countsNoReaders], []string{"shared-forced-release"}},

		// Ticks.
		{"records no tick", plain[recordsNoTick], []string{"tick-is-recorded", "tick-reply-lost", "once-per-tick", "tick-outlives-holders"}},
		{"records a tick of a failed release", newTickbook(func(m *tickbook) { m.always = true }), []string{"tick-needs-the-grant"}},
		{"deletes the tick with a release", newTickbook(func(m *tickbook) { m.clears = true }), []string{"tick-is-recorded", "tick-outlives-holders"}},
		{"returns the tick to one holder only", newTickbook(func(m *tickbook) { m.until = true }), []string{"tick-is-recorded", "tick-outlives-holders"}},
		{"records the tick with the second release", newRecordsLate, []string{"tick-is-recorded", "once-per-tick"}},

		// Pause.
		{"turns a pause into a long lease", plain[pausesForAnHour], []string{"pause-closes"}},
		{"reports a pause that did not happen", plain[pausesNothing], []string{"pause-closes", "pause-needs-the-grant", "pause-ends-when-told"}},
		{"frees the name to pause it", plain[opensToPause], []string{"pause-keeps-waiters-out"}},
		{"pauses once", plain[pausesOnce], []string{"pause-needs-the-grant"}},
		{"treats a pause as expired", plain[endsPauses], []string{"pause-ends-when-told"}},

		// Refusals, notifications and inspections.
		{"does not name the holder", plain[saysNothing], []string{"refusal-tells-who"}},
		{"does not name the holder to a waiter", plain[saysNothingToWhoWaits], []string{"wait-is-bounded"}},
		{"truncates the holder", plain[cutsHolder], []string{"refusal-tells-who"}},
		{"wakes nobody", plain[wakesNobody], []string{"release-wakes"}},
		{"notifies only at the subscription", plain[wakesAtOnce], []string{"release-wakes"}},
		{"shows everything as free", plain[showsFree], []string{"inspector-sees"}},
		{"lists other namespaces", plain[listsAll], []string{"inspector-lists"}},
		{"lists without order", plain[listsBackwards], []string{"inspector-lists"}},
		{"shows no waiter", plain[showsNoWaiter], []string{"inspector-counts-waiters"}},
		{"lists no waiter", plain[listsNoWaiter], []string{"inspector-counts-waiters"}},
		{"counts the holder as a waiter", plain[countsHolder], []string{"inspector-counts-waiters"}},
		{"forces the release of any grant", plain[forcesAnything], []string{"force-needs-the-token"}},
		{"forces a release without raising the token", plain[forcesUnfenced], []string{"tokens-rise-after-force"}},
	}
	for defect, fold := range folds {
		list = append(list, mutant{defect, func(b *memlock.Backend) inprocess.Memory { return &rekeyed{b, fold.key} }, []string{fold.caughtBy}})
	}
	return list
}

// plain wraps b in a mutant type that has no other field.
func plain[M ~struct{ *memlock.Backend }](b *memlock.Backend) inprocess.Memory {
	return any(M{b}).(inprocess.Memory)
}

func batchesWith[M ~struct{ batched }](b *memlock.Backend) inprocess.Memory {
	return any(M{batched{b}}).(inprocess.Memory)
}
