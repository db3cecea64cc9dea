package redislock

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Option changes how a backend is made.
type Option func(*options)

type options struct {
	prefix        redisbase.Prefix
	retention     time.Duration
	allowEviction bool
	replicas      int
	replicaWait   time.Duration
}

// Defaults and limits of the options.
const (
	DefaultPrefix    = "rowlock:"
	DefaultRetention = 7 * 24 * time.Hour
	MinRetention     = 24 * time.Hour
)

// Prefix begins the key of each lock. The default is "rowlock:". It ends with a colon, and has neither "::" nor ":@" in it. Two backends see the
// same locks only with the same prefix. One with a hash tag, such as "{locks}:", puts all locks of a Cluster into one slot: then they are
// renewed a hundred in a request, and one server has them all.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = redisbase.Prefix(prefix) } }

// Retention is how long a lock is remembered that was not released: its holder crashed, or let the lease expire. It is at least 24 hours,
// by default seven days. A lock that was released is remembered for five minutes, so that a release whose reply was lost can be
// repeated. Tokens go on rising afterwards, because the server keeps the largest token that it has forgotten.
func Retention(d time.Duration) Option { return func(o *options) { o.retention = d } }

// AllowEviction accepts a server whose maxmemory-policy is not noeviction. Such a server drops locks that are
// held when its memory is full, and grants them again.
func AllowEviction() Option { return func(o *options) { o.allowEviction = true } }

// Replicated makes a grant and a renewal count only when at least n replicas have confirmed it within
// timeout, which must be shorter than the client's ReadTimeout. A grant that fewer confirm is released
// and fails; a renewal that fewer confirm is tried again until the lease's deadline.
//
// That makes a second holder after a failover less likely and not impossible: a replica that has not
// confirmed may be promoted, and a primary that is cut off with n replicas goes on granting. Set
// min-replicas-to-write on the server as well.
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
	case o.replicas > 0 && o.replicaWait < time.Millisecond: // zero is for ever
		return fmt.Errorf("redislock: Replicated(%d, %s): want a timeout of at least 1ms", o.replicas, o.replicaWait)
	case o.replicas > 0 && readTimeout > 0 && o.replicaWait >= readTimeout:
		return fmt.Errorf("redislock: Replicated(%d, %s): the client gives up before, after its ReadTimeout of %s", o.replicas, o.replicaWait, readTimeout)
	}
	return nil
}
