package locktest

import (
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// mutants are the defects that a backend's author may write.
func mutants() []mutant {
	list := []mutant{
		// Acquire.
		{"never excludes", plain[neverExcludes], []string{"excludes"}},
		{"looks first and takes later", plain[racy], []string{"history"}},
		{"says that a name is held with an error of its own", plain[heldAsPlainError], []string{"excludes", "wait-is-bounded", "context-ends-a-wait"}},
		{"says held for every error", plain[errorsAsHeld], []string{"ended-context"}},
		{"never grants to who waits", plain[refusesWhoWaits], []string{"waiting-asks-the-same"}},
		{"does not heed the context", plain[ignoresContext], []string{"ended-context"}},
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
		{"counts again after a release", tokens(restartsAfterRelease), []string{"tokens-rise-after-release", "history"}},
		{"counts again after an expiry", tokens(restartsAfterExpiry), []string{"tokens-rise-after-expiry"}},
		{"counts again after a prune", tokens(restartsAfterPrune), []string{"tokens-rise-after-prune"}},
		{"changes the token with a renewal", tokens(changesWithRenewal), []string{"token-stays"}},
		{"has no tokens and never excludes", newTokenless(plain[neverExcludes]), []string{"excludes"}},
		{"has no tokens, looks first and takes later", newTokenless(plain[racy]), []string{"history"}},
		{"has no tokens, and does not say so", undeclared, []string{"tokens-rise-after-release", "release-frees"}},

		// Renewal.
		{"renews what has expired", plain[renewsExpired], []string{"renewal-does-not-revive", "loss-is-told", "loss-ends-the-work"}},
		{"grants by renewal", plain[renewsFree], []string{"renewal-does-not-insert", "renewal-after-release"}},
		{"renews by token only", newNonceless(true, false), []string{"renewal-compares-nonce"}},
		{"renews by nonce only", plain[renewsAnyToken], []string{"renewal-compares-token"}},
		{"says renewed and does nothing", plain[renewsNothing], []string{"renewal-extends", "lease-is-kept"}},
		{"renews the first of a batch only", plain[renewsFirst], []string{"leases-are-kept-together"}},
		{"renews fifty at most", plain[renewsFifty], []string{"renewal-of-many"}},
		{"loses all when one of them was released", plain[renewsAllOrNone], []string{"renewal-beside-release"}},
		{"gives the outcomes in another order", plain[renewsReversed], []string{"renewal-by-position"}},
		{"renews a grant once", newRenewsOnce, []string{"renewal-reply-lost"}},

		// Release.
		{"releases by token only", newNonceless(false, true), []string{"release-compares-nonce"}},
		{"releases by nonce only", plain[releasesAnyToken], []string{"release-compares-token"}},
		{"releases by name only", plain[releasesByName], []string{"release-by-nonce", "release-too-late", "loss-harms-nobody", "history"}},
		{"does not release again", newReleasesOnce, []string{"release-repeats"}},
		{"does not release", plain[releasesNothing], []string{"release-frees", "waiter-gets-it", "waiters-queue", "close-releases", "release-reply-lost"}},
		{"does not release without a token", plain[needsToken], []string{"release-by-nonce", "acquire-given-up"}},
		{"releases what was never granted", plain[releasesAll], []string{"release-of-nothing"}},

		// Hand-over.
		{"frees the name between two holders", plain[freesBetween], []string{"hand-over-excludes", "hand-over-too-late", "hand-over-keeps-the-minimum-hold"}},
		{"hands nothing over, and says so", plain[handsNothing], []string{"hand-over-grants", "hand-over-needs-the-grant", "hand-over-excludes"}},
		{"hands the token over", plain[handsTheToken], []string{"hand-over-grants", "hand-over-reply-lost"}},
		{"hands over whatever is there", plain[handsAnything], []string{"hand-over-needs-the-grant", "hand-over-too-late", "hand-over-repeats"}},
		{"hands over what has expired", plain[handsExpired], []string{"hand-over-too-late"}},
		{"hands over once", plain[handsOnce], []string{"hand-over-repeats", "hand-over-reply-lost"}},
		{"does not extend what is handed over again", plain[handsNoAnew], []string{"hand-over-repeats"}},
		{"hands over in spite of the minimum hold", plain[handsMinimumHold], []string{"hand-over-keeps-the-minimum-hold"}},

		// Requests that are left with the store.
		{"grants to who has given up", newLeaves(true, false), []string{"left-request-is-withdrawn"}},
		{"grants by itself what it has not taken note of", newLeaves(false, true), []string{"left-request-is-granted"}},

		// Pause.
		{"makes a long lease of a pause", plain[pausesForAnHour], []string{"pause-closes"}},
		{"pauses nothing, and says so", plain[pausesNothing], []string{"pause-closes", "pause-needs-the-grant", "pause-ends-when-told"}},
		{"frees the name to pause it", plain[opensToPause], []string{"pause-keeps-waiters-out"}},
		{"pauses once", plain[pausesOnce], []string{"pause-needs-the-grant"}},
		{"ends a pause as if it were over", plain[endsPauses], []string{"pause-ends-when-told"}},

		// What a refusal reports.
		{"does not say who holds a name", plain[saysNothing], []string{"refusal-tells-who"}},
		{"does not say to who waits who holds a name", plain[saysNothingToWhoWaits], []string{"wait-is-bounded"}},
		{"cuts the holder short", plain[cutsHolder], []string{"refusal-tells-who"}},
		{"wakes nobody", plain[wakesNobody], []string{"release-wakes"}},
		{"wakes those who subscribe, and nobody later", plain[wakesAtOnce], []string{"release-wakes"}},
		{"shows everything as free", plain[showsFree], []string{"inspector-sees"}},
		{"lists other namespaces", plain[listsAll], []string{"inspector-lists"}},
		{"lists without order", plain[listsBackwards], []string{"inspector-lists"}},
		{"forces whatever is there", plain[forcesAnything], []string{"force-needs-the-token"}},
		{"forces without raising the token", plain[forcesUnfenced], []string{"tokens-rise-after-force"}},
	}
	for defect, fold := range folds {
		list = append(list, mutant{defect, func(b *memlock.Backend) inprocess.Memory { return &rekeyed{b, fold.key} }, []string{fold.caughtBy}})
	}
	return list
}

// plain builds a mutant that is a struct around memlock and nothing else.
func plain[M ~struct{ *memlock.Backend }](b *memlock.Backend) inprocess.Memory {
	return any(M{b}).(inprocess.Memory)
}
