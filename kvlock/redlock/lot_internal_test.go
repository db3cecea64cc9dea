package redlock

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Of few waiters, all poll once a second. Of many waiters that begin to wait at the same time, about five do at any time.
// So there is hardly ever a long pause in which nobody polls.
func TestSomeWaiterAlwaysPolls(t *testing.T) {
	t.Parallel()
	for _, waiters := range []int{1, 5, 6, 30, 200, 2000} {
		const span, groups = time.Minute, 20
		polls, long := 0, 0
		for range groups {
			n, longest := simulatePolls(waiters, span)
			polls += n
			if longest > 5*time.Second {
				long++
			}
		}
		each := float64(polls) / float64(groups*waiters) / span.Seconds() * 10
		t.Logf("%d waiters: each polls %.2f times in 10 s", waiters, each)
		assert.LessOrEqual(t, long, groups/4, "%d waiters", waiters)
		if waiters <= pollers {
			assert.InDelta(t, 10, each, 1)
		}
		if waiters >= 200 {
			assert.LessOrEqual(t, each, 1.0, "%d waiters", waiters)
		}
	}
}

// simulatePolls returns how often waiters poll in the given time, and the longest pause between two polls.
func simulatePolls(waiters int, span time.Duration) (n int, longest time.Duration) {
	began := time.Now()
	polls := []time.Time{began}
	for range waiters {
		var l lot
		for now := began; ; {
			if l = l.next(now); l.seldom(int64(waiters)) { // the engine rests for these times
				now = now.Add(12*time.Second + rand.N(8*time.Second))
			} else {
				now = now.Add(500*time.Millisecond + rand.N(time.Second))
			}
			if now.Sub(began) > span {
				break
			}
			polls = append(polls, now)
		}
	}
	slices.SortFunc(polls, time.Time.Compare)
	for i, at := range polls[1:] {
		longest = max(longest, at.Sub(polls[i]))
	}
	return len(polls) - 1, longest
}
