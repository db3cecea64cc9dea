package main

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// three is how long three bare durable updates take, one after the other, by each kind of connection: what a hand-over of a lease
// row might cost if nobody had to be told. They are measured just before each crowd of ours that they are compared with, since one
// disk was seen to flush twice as fast as an hour before.
type three []*threeUpdate

type threeUpdate struct {
	name   string
	party  *party
	took   []time.Duration
	failed error
}

func threeUpdates(ctx context.Context, s store, at []string) (all three) {
	for _, l := range s.locks {
		if l.half {
			u := &threeUpdate{name: "three" + l.name[len("two"):]}
			u.party, u.failed = l.join(ctx, at, task{Name: "three", Members: 1})
			all = append(all, u)
		}
	}
	return all
}

// measure is for what comes before c.
func (all three) measure(ctx context.Context, c crowd, round time.Duration) {
	if c.lock.kind != report.Rowlock || c.contenders != mostProcesses {
		return
	}
	for _, u := range all {
		if u.failed != nil {
			continue
		}
		took, err := timed(ctx, func(ctx context.Context) error {
			h, err := u.party.members[0](ctx)
			return errors.Join(err, h.release(ctx), h.release(ctx))
		}, round)
		u.took, u.failed = append(u.took, took...), err
	}
}

func (all three) rows() (rows []report.Row) {
	for _, u := range all {
		row := report.Row{Lock: u.name, Kind: report.Floor}
		switch {
		case u.failed != nil:
			row.Error = u.failed.Error()
		case u.took != nil: // else there was no crowd
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
