package redlock

import (
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// pollers is how many of the waiters for a lock poll once a second, on average. They notice if the lock becomes free and
// nobody is notified, for example because the first waiter is suspended, or because an attempt was undone.
const pollers = 5

// lotTime is how long a lot is valid. A waiter that polls seldom draws a new lot at each poll, because the engine lets it
// rest for 12 seconds at least.
const lotTime = 12 * time.Second

// lot decides whether a waiter polls seldom. Each waiter draws lots, so that the waiters that poll often are not always
// those that do not respond.
type lot struct {
	drawn  time.Time
	number float64 // at least 0, less than 1
}

// next returns l while it is valid, and then a new lot.
func (l lot) next(now time.Time) lot {
	if now.Sub(l.drawn) < lotTime {
		return l
	}
	return lot{now, rand.Float64()}
}

// seldom reports whether the waiter polls seldom, if so many processes wait.
func (l lot) seldom(waiters int64) bool { return l.number*float64(waiters) >= pollers }

// pollsSeldom reports whether this process polls seldom while it waits for key, together with so many waiters in all.
func (r *Backend) pollsSeldom(key driver.Key, waiters int64) bool {
	last, _ := r.lots.Load(key)
	before, _ := last.(lot)
	l := before.next(time.Now())
	r.lots.Store(key, l)
	return l.seldom(waiters)
}
