package redislock

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Option configures a backend.
type Option func(*options)

type options struct {
	prefix        redisbase.Prefix
	retention     time.Duration
	allowEviction bool
	replicas      int
	replicaWait   time.Duration
}

// The defaults and limits of the options.
const (
	DefaultPrefix    = "rowlock:"
	DefaultRetention = 7 * 24 * time.Hour
	MinRetention     = 24 * time.Hour
)

// Prefix sets the text with which the key of each lock begins. The default is "rowlock:". It must end with a colon, and
// must not contain "::" or ":@". Two backends share locks only if they have the same prefix. A prefix with a hash tag,
// such as "{locks}:", puts all locks of a Cluster into one slot. One run of the script then renews a hundred of them,
// but all locks are on one server.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = redisbase.Prefix(prefix) } }

// Retention sets how long the server remembers a lock whose lease was not released, because its holder crashed or let
// the lease expire. The retention is at least 24 hours. The default is seven days. The server remembers a released lock
// for five minutes, so that a release whose reply was lost can be repeated. Tokens keep rising after that, because the
// server keeps the largest token of deleted locks. A lock with a tick (see rowlock.Once) is kept until it is pruned.
func Retention(d time.Duration) Option { return func(o *options) { o.retention = d } }

// AllowEviction accepts a server whose maxmemory-policy is not noeviction. When its memory is full, such a server
// evicts held locks, and then grants them again.
func AllowEviction() Option { return func(o *options) { o.allowEviction = true } }

// Replicated makes a grant or a renewal valid only if at least n replicas have confirmed it within timeout. The timeout
// must be shorter than the client's ReadTimeout. If fewer replicas confirm a grant, the backend releases it and Acquire
// fails. If fewer replicas confirm a renewal, it is retried until the lease's deadline.
//
// The option makes a second holder after a failover less likely, but not impossible. A replica that has not confirmed
// may be promoted. A primary that is cut off together with n replicas continues to grant locks. Set
// min-replicas-to-write on the server too.
func Replicated(n int, timeout time.Duration) Option {
	return func(o *options) { o.replicas, o.replicaWait = n, timeout }
}

func (o options) validate(client redis.UniversalClient) error {
	var readTimeout time.Duration
	switch c := client.(type) {
	case nil:
		return errNoClient
	case *redis.Ring:
		return errRing
	case *redis.Client:
		if c == nil {
			return errNoClient
		}
		readTimeout = c.Options().ReadTimeout
	case *redis.ClusterClient:
		if c == nil {
			return errNoClient
		}
		readTimeout = c.Options().ReadTimeout
	default:
		if o.replicas != 0 {
			return fmt.Errorf("redislock: Replicated needs a *redis.Client or a *redis.ClusterClient, not a %T", client)
		}
	}
	switch err := o.prefix.Validate(pkg); {
	case err != nil:
		return err
	case o.retention < MinRetention:
		return fmt.Errorf("redislock: Retention %s: want at least %s", o.retention, MinRetention)
	case o.replicas < 0 || o.replicas == 0 && o.replicaWait != 0:
		return fmt.Errorf("redislock: Replicated(%d, %s): want at least one replica", o.replicas, o.replicaWait)
	case o.replicas > 0 && o.replicaWait < time.Millisecond: // WAIT with a timeout of zero waits without a limit
		return fmt.Errorf("redislock: Replicated(%d, %s): want a timeout of at least 1ms", o.replicas, o.replicaWait)
	case o.replicas > 0 && readTimeout > 0 && o.replicaWait >= readTimeout:
		return fmt.Errorf("redislock: Replicated(%d, %s): want a timeout shorter than the client's ReadTimeout of %s", o.replicas, o.replicaWait, readTimeout)
	}
	return nil
}
