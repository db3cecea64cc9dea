package redisbase

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// Answer is the reply of a script that works on one lock. In a refusal, Verdict is the reason, and ExpiresIn is the time
// until the lock is free. In the reply of inspect.lua, Verdict is the lock's state, and ExpiresIn is the time until the
// lease ends.
type Answer struct {
	Verdict      string
	Token        driver.Token
	Holder, Note string        // of the current grant
	Since        time.Duration // since the current grant
	ExpiresIn    time.Duration
	FreeIn       time.Duration // only in the reply of inspect.lua
	Done         string        // the last tick; only in the reply of inspect.lua
	Waiters      int           // waiters in the queue; in a refusal, only those before the waiter that sent the request
	Readers      int           // shares that have not expired
}

// Read decodes the reply of a script. It is empty, or a list of up to ten values, of which the last four may be missing.
func Read(cmd *redis.Cmd) (Answer, error) {
	list, err := cmd.Slice()
	if err != nil || len(list) == 0 {
		return Answer{}, err
	}
	var a Answer
	var token, since, expires, free, waiters, readers int64
	into := []any{&a.Verdict, &token, &a.Holder, &a.Note, &since, &expires, &free, &a.Done, &waiters, &readers}
	ok := len(list) == 6 || len(list) == len(into)
	for i := 0; ok && i < len(list); i++ {
		switch to := into[i].(type) {
		case *string:
			*to, ok = list[i].(string)
		case *int64:
			*to, ok = list[i].(int64)
		}
	}
	if !ok {
		return Answer{}, fmt.Errorf("unexpected reply of a script: %v", list)
	}
	a.Token, a.Waiters, a.Readers = driver.Token(token), int(waiters), int(readers)
	a.Since, a.ExpiresIn, a.FreeIn = time.Duration(since)*time.Microsecond, time.Duration(expires)*time.Microsecond, time.Duration(free)*time.Microsecond
	return a, nil
}

// Reasons maps the verdicts of the scripts to the reasons of a refusal.
var Reasons = map[string]driver.Reason{"leased": driver.Leased, "min hold": driver.MinHold, "handover": driver.Handover, "reserved": driver.Reserved}

// Held converts a into a refusal.
func (a Answer) Held() *driver.Held {
	return (&driver.Held{
		Reason: Reasons[a.Verdict], Holder: a.Holder, Note: a.Note, Token: a.Token, Readers: a.Readers, Since: a.Since, ExpiresIn: a.ExpiresIn, Ahead: a.Waiters,
	}).KnowPause()
}

// Micros returns d in microseconds, rounded up, so that no lease is shorter than requested.
func Micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }
