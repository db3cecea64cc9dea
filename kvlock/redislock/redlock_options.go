package redislock

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Defaults and limits of NewRedlock.
const (
	DefaultRedlockPrefix = "redlock:"
	DefaultMaxTTL        = time.Minute
	minNodes             = 3
	// mostNodeTime is how long a node may take by default, where a twentieth of the TTL is longer.
	mostNodeTime = 100 * time.Millisecond
	// contactTime is how long the first contact with a node may take, where a quarter of the TTL is longer.
	contactTime = time.Second
)

// MaxTTL is the longest TTL that any of those who share the locks of a Redlock asks for, by default a
// minute; rowlock.New refuses a longer one. All of them give the same. A server that may have forgotten its leases does not
// vote before the longest of them is over: it costs so much, and a tenth, after each start of a server.
func MaxTTL(d time.Duration) Option { return func(o *options) { o.maxTTL = d } }

// NodeTimeout is how long a call of a Redlock waits for one of its nodes, in each of its rounds. The default is a twentieth of the TTL,
// at most 100 ms.
func NodeTimeout(d time.Duration) Option { return func(o *options) { o.nodeTimeout = d } }

// sentinelAddr is what go-redis has for an address in the client of NewFailoverClient.
const sentinelAddr = "FailoverClient"

func (o options) validateRedlock(nodes []*redis.Client) error {
	switch err := o.validateKeys(); {
	case err != nil:
		return err
	case len(nodes) < minNodes || len(nodes)%2 == 0:
		return fmt.Errorf("redislock: NewRedlock with %d nodes: want an odd number of them, at least %d", len(nodes), minNodes)
	case o.replicas != 0 || o.replicaWait != 0:
		return errors.New("redislock: Replicated is not for NewRedlock: its nodes are independent")
	case o.allowEviction:
		return errors.New("redislock: AllowEviction is not for NewRedlock: a node that drops locks is not known to have forgotten")
	case o.maxTTL < time.Second:
		return fmt.Errorf("redislock: MaxTTL %s: want at least 1s", o.maxTTL)
	case o.nodeTimeout < 0 || o.nodeTimeout > 0 && o.nodeTimeout < time.Millisecond || o.nodeTimeout > o.maxTTL/4:
		return fmt.Errorf("redislock: NodeTimeout %s: want at least 1ms and at most a quarter of the MaxTTL of %s", o.nodeTimeout, o.maxTTL)
	}
	seen := make(map[string]int)
	for i, client := range nodes {
		if client == nil {
			return fmt.Errorf("redislock: NewRedlock: node %d is nil", i+1)
		}
		addr := client.Options().Addr
		if addr == sentinelAddr {
			return fmt.Errorf("redislock: NewRedlock: node %d is a client of Sentinel: a failover would put another server in its place; give the address of one server", i+1)
		}
		if before, twice := seen[addr]; twice {
			return fmt.Errorf("redislock: NewRedlock: nodes %d and %d are both %s", before, i+1, addr)
		}
		seen[addr] = i + 1
	}
	return nil
}

// limit is how long one round may wait for a node.
func (o options) limit(ttl time.Duration) time.Duration {
	if o.nodeTimeout > 0 {
		return o.nodeTimeout
	}
	return max(min(ttl/20, mostNodeTime), time.Millisecond).Round(time.Millisecond)
}

// contact is limit for a node that is asked for the first time.
func (o options) contact(ttl time.Duration) time.Duration {
	return max(o.limit(ttl), min(ttl/4, contactTime))
}

// quarantine is for how long a node that may have forgotten does not vote, by its own clock.
func (o options) quarantine() time.Duration { return o.maxTTL + o.maxTTL/10 }
