package doctor

import (
	"context"
	"fmt"
	"time"
)

// clockTolerated is by how much a store's clock may differ from this machine's before that is worth a warning.
const clockTolerated = time.Second

// clockRounds is how often a clock is asked; the quickest answer counts.
const clockRounds = 3

// measureClock is how far the clock that ask reads is ahead of this machine's. It was read somewhere between sending and
// answer: in the middle, give or take half of that time.
func measureClock(ctx context.Context, ask func(context.Context) (time.Time, error)) (ahead, giveOrTake time.Duration, err error) {
	quickest := time.Duration(-1)
	for range clockRounds {
		sent := time.Now()
		there, err := ask(ctx)
		if err != nil {
			return 0, 0, err
		}
		took := time.Since(sent)
		if quickest < 0 || took < quickest {
			quickest = took
			ahead = there.Round(0).Sub(sent.Add(took / 2).Round(0)) // wall clocks
		}
	}
	return ahead, quickest / 2, nil
}

// clockCheck compares the clock of a server with this machine's.
func clockCheck(of string, ask func(context.Context) (time.Time, error)) check {
	return check{"clock", func(ctx context.Context, r *Report) error {
		ahead, giveOrTake, err := measureClock(ctx, ask)
		if err != nil {
			return err
		}
		r.clock(of, ahead, giveOrTake)
		return nil
	}}
}

func (r *Report) clock(of string, ahead, giveOrTake time.Duration) {
	where := "ahead of"
	distance := ahead
	if ahead < 0 {
		where, distance = "behind", -ahead
	}
	found := fmt.Sprintf("that of %s is %s %s this machine's, give or take %s",
		of, distance.Round(10*time.Microsecond), where, giveOrTake.Round(10*time.Microsecond))
	if distance-giveOrTake <= clockTolerated {
		r.ok("clock", found)
		return
	}
	r.warn("clock", found+": the store's clock alone decides when a lease ends, and a holder's trust is counted by a clock that nobody sets, "+
		"but the times that are shown are wrong, and tokens that come from a clock may fall behind after a failover",
		"run NTP on both (chronyd, systemd-timesyncd), and have it slew and not step")
}
