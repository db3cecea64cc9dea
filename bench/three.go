package main

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// three is a baseline for the hand-over of a lease row. It consists of three updates of a row, one after the other,
// each flushed to disk. There is one such baseline for each kind of connection. The three updates stand for the cost of
// a hand-over that does not notify the next process. The three updates are measured just before the crowd of rowlock
// that is compared with them, because the speed of a disk may double within an hour. Each baseline is measured twice:
// without delays, and with a delay before each update. The delay is as long as a holder keeps the lock. The delay
// matters because a machine is slower just after it was idle.
type three []*threeUpdate

type threeUpdate struct {
	name string
	// The name of the lock that makes these updates. Other locks that name it as their floor are compared with this
	// baseline.
	floor  string
	rest   time.Duration // the delay before each update
	party  *party
	took   []time.Duration
	failed error
}

func threeUpdates(ctx context.Context, s store, at []string) (all three) {
	for _, l := range s.locks {
		if l.half {
			name := "three" + l.name[len("two"):]
			all = append(all, threeOf(ctx, at, l, name, 0), threeOf(ctx, at, l, name+", after 1 ms of rest each", hold))
		}
	}
	return all
}

func threeOf(ctx context.Context, at []string, l lock, name string, rest time.Duration) *threeUpdate {
	u := &threeUpdate{name: name, floor: l.name, rest: rest}
	u.party, u.failed = l.join(ctx, at, task{Name: "three", Members: 1})
	return u
}

// measure measures the updates for the crowd c, before c itself is measured.
func (all three) measure(ctx context.Context, c crowd, round time.Duration) {
	for _, u := range all {
		if u.failed != nil || u.floor != c.lock.floor || c.contenders != mostProcesses {
			continue
		}
		for end := time.Now().Add(round); time.Now().Before(end) && u.failed == nil; {
			took, err := u.once(ctx)
			u.took, u.failed = append(u.took, took), err
		}
	}
}

// once returns the sum of the three updates without the delays.
func (u *threeUpdate) once(ctx context.Context) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var h held
	again := func() error { return h.release(ctx) }
	first := func() (err error) { h, err = u.party.members[0](ctx); return err }
	for _, update := range []func() error{first, again, again} {
		sleep(ctx, u.rest)
		began := time.Now()
		if err := update(); err != nil {
			return 0, err
		}
		took += time.Since(began)
	}
	return took, nil
}

func (all three) rows() (rows []report.Row) {
	for _, u := range all {
		row := report.Row{Lock: u.name, Kind: report.Floor}
		switch {
		case u.failed != nil:
			row.Error = u.failed.Error()
		case u.took != nil: // if no crowd was compared with these updates, the row has no figures and no error
			row.Figures = map[string]float64{"p50_us": percentile(u.took, 50), "p99_us": percentile(u.took, 99)}
		}
		rows = append(rows, row)
	}
	return rows
}

func (all three) close() {
	for _, u := range all {
		if u.party != nil {
			u.party.close()
		}
	}
}
