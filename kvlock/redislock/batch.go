package redislock

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// errAlone is the outcome of a request that is not sent in a batch, because replicas must confirm it.
var errAlone = driver.NotApplied(errors.New("replicas confirm one request at a time"))

// AcquireEach implements [driver.Batcher]. It sends all requests in one round trip, or, on a Cluster, in one to each
// server.
func (b *Backend) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	calls := make([]redisbase.Call, len(requests))
	for i, r := range requests {
		calls[i] = b.ask(r, "")
	}
	cmds, errs := b.each(ctx, calls)
	grants := make([]driver.Grant, len(requests))
	for i, r := range requests {
		if errs[i] == nil {
			grants[i], errs[i] = grantOf(r, cmds[i])
		}
		errs[i] = describe(ctx, "acquire", r.Key, errs[i])
	}
	return grants, errs
}

// ReleaseEach implements [driver.Batcher]. It sends all releases in one round trip, or, on a Cluster, in one to each
// server.
func (b *Backend) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	calls := make([]redisbase.Call, len(grants))
	for i, g := range grants {
		calls[i] = b.end(g)
	}
	cmds, errs := b.each(ctx, calls)
	for i, g := range grants {
		if errs[i] == nil {
			errs[i] = released(cmds[i])
		}
		errs[i] = describe(ctx, "release", g.Key, errs[i])
	}
	return errs
}

// each makes the calls together. It returns an error for each call that has no reply.
func (b *Backend) each(ctx context.Context, calls []redisbase.Call) ([]*redis.Cmd, []error) {
	errs := make([]error, len(calls))
	cmds, err := send(ctx, b, func(ctx context.Context) ([]*redis.Cmd, error) {
		if b.options.replicas > 0 {
			return nil, errAlone
		}
		cmds := redisbase.RunAll(ctx, b.client, calls)
		failures := make([]error, len(cmds))
		for i, cmd := range cmds {
			failures[i] = cmd.Err()
		}
		return cmds, oneline.Join(failures...)
	})
	for i := range calls {
		switch {
		case cmds == nil:
			errs[i] = err
		case cmds[i].Err() != nil:
			errs[i] = b.classify(cmds[i].Err())
		}
	}
	return cmds, errs
}
