package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// minMajor is the oldest Redis that the tests run on.
const minMajor = 7

// preflight asks once whether the server, on a Cluster each primary, is fit for locks. A server that is not is
// asked again by the next call, because its configuration can be mended while it runs. What a server does
// not tell is not held against it.
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
		if says(err, "NOPERM") || says(err, "ERR") {
			return nil // a service that does not tell
		}
		return classify(err)
	}
	facts := parseInfo(text)
	if err := facts.refusal(b.isCluster(), b.options.allowEviction); err != nil {
		return driver.Permanent(err)
	}
	found.add(name, facts.weaknesses(b.options.replicas > 0, fsync(ctx, server)))
	return nil
}

// info is what INFO says: its lines are "name:value".
type info map[string]string

func parseInfo(text string) info {
	facts := make(info)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			facts[name] = value
		}
	}
	return facts
}

// refusal says why locks must not be kept on a server, and what to do.
func (i info) refusal(cluster, allowEviction bool) error {
	version := i["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(major)
	switch {
	case err == nil && number < minMajor:
		return fmt.Errorf("the server is Redis %s; locks need Redis %d or newer, or Valkey", version, minMajor)
	case i["role"] != "" && i["role"] != "master":
		return errors.New("the server is a replica: give the client the address of its primary, or use redis.NewFailoverClient")
	case i["cluster_enabled"] == "1" && !cluster:
		return errors.New("the server is part of a Cluster: use redis.NewClusterClient")
	case i["maxmemory_policy"] != "" && i["maxmemory_policy"] != "noeviction" && !allowEviction:
		return fmt.Errorf("the server's maxmemory-policy is %s, which drops locks that are held when its memory is full: "+
			"set it to noeviction, keep locks on a server of their own, or accept it with redislock.AllowEviction", i["maxmemory_policy"])
	}
	return nil
}
