package redislock

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// preflight checks once whether the server is fit for locks. On a Cluster, it checks each primary. After a refusal the
// next operation checks again, because the configuration can be changed while the server runs. If a server does not
// report a fact, preflight does not refuse the server because of that fact.
func (b *Backend) preflight(ctx context.Context) error {
	if b.checked.Load() {
		return nil
	}
	var err error
	var found warnings
	switch c := b.client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error {
			return b.inspectServer(ctx, primary, "primary "+primary.Options().Addr, &found)
		})
	default:
		err = b.inspectServer(ctx, c, "the server", &found)
	}
	if err == nil {
		b.warnings.Store(&found)
		b.checked.Store(true)
		return nil
	}
	if !driver.IsPermanent(err) {
		err = driver.NotApplied(err)
	}
	return err
}

func (b *Backend) inspectServer(ctx context.Context, server redis.Cmdable, name string, found *warnings) error {
	text, err := server.Info(ctx).Result()
	if err != nil {
		if redisbase.Says(err, "NOPERM") || redisbase.Says(err, "ERR") {
			return nil // some managed services do not permit INFO
		}
		return redisbase.Classify(err)
	}
	facts := redisbase.ParseInfo(text)
	if err := facts.Refusal(redisbase.IsCluster(b.client), b.options.allowEviction); err != nil {
		return driver.Permanent(err)
	}
	found.add(name, weaknesses(facts, b.options.replicas > 0, fsync(ctx, server)))
	return nil
}
