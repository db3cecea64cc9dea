package doctor

import (
	"context"
	"fmt"
	"time"
)

// clockTolerated is the largest difference between the clocks of the store and of this machine that causes no warning,
// beyond the possible error of the measurement.
const clockTolerated = time.Second

// clockRounds is how many times a clock is read. doctor uses the answer with the shortest round trip.
const clockRounds = 3

// measureClock calls the function ask, which reads a server's clock. It returns how far the server's clock is ahead of
// this machine's clock, and the possible error of this result. measureClock assumes that the server read its clock in
// the middle of the round trip. So the result is wrong by at most half of the round trip.
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
			ahead = there.Round(0).Sub(sent.Add(took / 2).Round(0)) // Round removes the monotonic readings, so that Sub compares the wall clocks
		}
	}
	return ahead, quickest / 2, nil
}

// clockCheck compares the clock of a server with the clock of this machine. The parameter server is the server's name.
func clockCheck(server string, ask func(context.Context) (time.Time, error)) check {
	return check{"clock", func(ctx context.Context, r *Report) error {
		ahead, giveOrTake, err := measureClock(ctx, ask)
		if err != nil {
			return err
		}
		r.clock(server, ahead, giveOrTake)
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
	r.warn("clock", found+": leases are still safe: only the store's clock ends them, and a holder measures time with a monotonic clock; "+
		"but the displayed times are wrong, and if the store takes tokens from its clock, they may fall behind after a failover",
		"run NTP on both machines (chronyd, systemd-timesyncd), and let it adjust the clock gradually (slew, not step)")
}
