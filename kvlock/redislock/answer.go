package redislock

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// answer is what the scripts for one lock return: a word, the token, and of whoever has the lock who,
// why, and two or three numbers: durations in microseconds, and for a waiter the last one is how many are before it.
type answer struct {
	verdict      string
	token        driver.Token
	holder, note string
	times        [3]time.Duration
}

func read(cmd *redis.Cmd) (answer, error) {
	var a answer
	list, err := cmd.Slice()
	if err != nil || len(list) == 0 {
		return a, err
	}
	if len(list) < 6 || len(list) > 7 {
		return a, fmt.Errorf("a script answered %v", list)
	}
	var ok [7]bool
	a.verdict, ok[0] = list[0].(string)
	token, isToken := list[1].(int64)
	a.token, ok[1] = driver.Token(token), isToken
	a.holder, ok[2] = list[2].(string)
	a.note, ok[3] = list[3].(string)
	for i, v := range list[4:] {
		us, isNumber := v.(int64)
		a.times[i], ok[4+i] = time.Duration(us)*time.Microsecond, isNumber
	}
	for i := range list {
		if !ok[i] {
			return answer{}, fmt.Errorf("a script answered %v", list)
		}
	}
	return a, nil
}

var reasons = map[string]driver.Reason{"leased": driver.Leased, "min hold": driver.MinHold, "handover": driver.Handover, "reserved": driver.Reserved}

func (a answer) held() *driver.Held {
	return (&driver.Held{
		Reason: reasons[a.verdict], Holder: a.holder, Note: a.note, Token: a.token, Since: a.times[0], ExpiresIn: a.times[1], Ahead: int(a.times[2] / time.Microsecond),
	}).KnowPause()
}

// micros rounds up: no lease is shorter than it was asked for.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }
