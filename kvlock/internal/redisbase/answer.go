package redisbase

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// Answer is the reply of a script that works on one lock. Verdict is the lock's state, or the reason for a refusal.
// Token, Holder and Note describe the current grant. In a refusal, Times contains the time since the grant and the
// time until the lock is free. For a waiter, its third element is the number of waiters before this one, counted in
// microseconds. In the reply of inspect.lua, Times contains the time since the grant, the time until the lease ends,
// and the time until the lock is free. That reply also contains the last tick (Done), and the numbers of waiters and
// of shares (Readers).
type Answer struct {
	Verdict      string
	Token        driver.Token
	Holder, Note string
	Times        [3]time.Duration
	Done         string
	Waiters      int
	Readers      int
}

// Read decodes the reply of a script.
func Read(cmd *redis.Cmd) (Answer, error) {
	var a Answer
	list, err := cmd.Slice()
	if err != nil || len(list) == 0 {
		return a, err
	}
	if len(list) < 6 || len(list) > 10 {
		return a, fmt.Errorf("unexpected reply of a script: %v", list)
	}
	var ok [10]bool
	a.Verdict, ok[0] = list[0].(string)
	token, isToken := list[1].(int64)
	a.Token, ok[1] = driver.Token(token), isToken
	a.Holder, ok[2] = list[2].(string)
	a.Note, ok[3] = list[3].(string)
	for i, v := range list[4:min(len(list), 7)] {
		us, isNumber := v.(int64)
		a.Times[i], ok[4+i] = time.Duration(us)*time.Microsecond, isNumber
	}
	if len(list) >= 8 {
		a.Done, ok[7] = list[7].(string)
	}
	if len(list) >= 9 {
		waiters, isNumber := list[8].(int64)
		a.Waiters, ok[8] = int(waiters), isNumber
	}
	if len(list) == 10 {
		readers, isNumber := list[9].(int64)
		a.Readers, ok[9] = int(readers), isNumber
	}
	for i := range list {
		if !ok[i] {
			return Answer{}, fmt.Errorf("unexpected reply of a script: %v", list)
		}
	}
	return a, nil
}

// Reasons maps the verdicts of the scripts to the reasons of a refusal.
var Reasons = map[string]driver.Reason{"leased": driver.Leased, "min hold": driver.MinHold, "handover": driver.Handover, "reserved": driver.Reserved}

// Held converts a into a refusal.
func (a Answer) Held() *driver.Held {
	return (&driver.Held{
		Reason: Reasons[a.Verdict], Holder: a.Holder, Note: a.Note, Token: a.Token, Readers: a.Readers, Since: a.Times[0], ExpiresIn: a.Times[1], Ahead: int(a.Times[2] / time.Microsecond),
	}).KnowPause()
}

// Micros returns d in microseconds, rounded up, so that no lease is shorter than requested.
func Micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }
