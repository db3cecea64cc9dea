package redlock

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Option configures a backend.
type Option func(*options)

type options struct {
	prefix              redisbase.Prefix
	maxTTL, nodeTimeout time.Duration
}

// retention is how long a node remembers a lock that was not released, because its holder crashed or let the lease
// expire.
const retention = 7 * 24 * time.Hour

// The defaults and limits of the options.
const (
	DefaultPrefix = "redlock:"
	DefaultMaxTTL = time.Minute
	minNodes      = 3
	// mostNodeTime is the largest default timeout of one node. If a twentieth of the TTL is shorter, that is the
	// default.
	mostNodeTime = 100 * time.Millisecond
	// contactTime is the largest timeout of the first contact with a node. If a quarter of the TTL is shorter, that is
	// the timeout.
	contactTime = time.Second
)

// Prefix sets the text with which the key of each lock begins. The default is "redlock:". It must end with a colon, and
// must not contain "::" or ":@". Two backends share locks only if they have the same prefix.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = redisbase.Prefix(prefix) } }

// MaxTTL sets the longest TTL of all programs that share the locks. The default is a minute. All these programs must
// set the same MaxTTL. rowlock.New refuses a longer TTL. A server that may have lost leases does not vote until even
// the longest lease has expired. So after each start, a server does not vote for 1.1 times MaxTTL.
func MaxTTL(d time.Duration) Option { return func(o *options) { o.maxTTL = d } }

// NodeTimeout sets how long a call waits for one node, in each round. The default is a twentieth of the TTL, at most
// 100 ms.
func NodeTimeout(d time.Duration) Option { return func(o *options) { o.nodeTimeout = d } }

// sentinelAddr is the text that redis.NewFailoverClient sets as the address of its clients. New uses it to recognise
// such a client.
const sentinelAddr = "FailoverClient"

func (o options) validate(nodes []*redis.Client) error {
	switch err := o.prefix.Validate(pkg); {
	case err != nil:
		return err
	case len(nodes) < minNodes || len(nodes)%2 == 0:
		return fmt.Errorf("redlock: New with %d nodes: want an odd number of them, at least %d", len(nodes), minNodes)
	case o.maxTTL < time.Second:
		return fmt.Errorf("redlock: MaxTTL %s: want at least 1s", o.maxTTL)
	case o.nodeTimeout < 0 || o.nodeTimeout > 0 && o.nodeTimeout < time.Millisecond || o.nodeTimeout > o.maxTTL/4:
		return fmt.Errorf("redlock: NodeTimeout %s: want at least 1ms and at most a quarter of the MaxTTL of %s", o.nodeTimeout, o.maxTTL)
	}
	seen := make(map[string]int)
	for i, client := range nodes {
		if client == nil {
			return fmt.Errorf("redlock: New: node %d is nil", i+1)
		}
		addr := client.Options().Addr
		if addr == sentinelAddr {
			return fmt.Errorf("redlock: New: node %d is a client of Sentinel: a failover would put another server in its place; give the address of one server", i+1)
		}
		if before, twice := seen[addr]; twice {
			return fmt.Errorf("redlock: New: nodes %d and %d are both %s", before, i+1, addr)
		}
		seen[addr] = i + 1
	}
	return nil
}

// limit returns how long one round may wait for a node.
func (o options) limit(ttl time.Duration) time.Duration {
	if o.nodeTimeout > 0 {
		return o.nodeTimeout
	}
	return max(min(ttl/20, mostNodeTime), time.Millisecond).Round(time.Millisecond)
}

// contact returns how long the first request to a node may take.
func (o options) contact(ttl time.Duration) time.Duration {
	return max(o.limit(ttl), min(ttl/4, contactTime))
}

// quarantine returns for how long a node that may have lost leases does not vote. The node measures it on its own
// clock.
func (o options) quarantine() time.Duration { return o.maxTTL + o.maxTTL/10 }
