package redislock

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// Option changes how a backend is made.
type Option func(*options)

type options struct {
	prefix        string
	retention     time.Duration
	allowEviction bool
	replicas      int
	replicaWait   time.Duration

	maxTTL, nodeTimeout time.Duration // of Redlock
}

// Defaults and limits of the options.
const (
	DefaultPrefix    = "rowlock:"
	DefaultRetention = 7 * 24 * time.Hour
	MinRetention     = 24 * time.Hour
	maxPrefix        = 128
)

// Prefix begins the key of each lock. The default is "rowlock:". It ends with a colon, and has neither "::" nor ":@" in it. Two backends see the
// same locks only with the same prefix. One with a hash tag, such as "{locks}:", puts all locks of a Cluster into one slot: then they are
// renewed a hundred in a request, and one server has them all.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

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
	switch err := o.validateKeys(); {
	case err != nil:
		return err
	case o.maxTTL != 0 || o.nodeTimeout != 0:
		return errors.New("redislock: MaxTTL and NodeTimeout are options of NewRedlock")
	case o.replicas < 0 || o.replicas == 0 && o.replicaWait != 0:
		return fmt.Errorf("redislock: Replicated(%d, %s): want at least one replica", o.replicas, o.replicaWait)
	case o.replicas > 0 && o.replicaWait < time.Millisecond: // zero is for ever
		return fmt.Errorf("redislock: Replicated(%d, %s): want a timeout of at least 1ms", o.replicas, o.replicaWait)
	case o.replicas > 0 && readTimeout > 0 && o.replicaWait >= readTimeout:
		return fmt.Errorf("redislock: Replicated(%d, %s): the client gives up before, after its ReadTimeout of %s", o.replicas, o.replicaWait, readTimeout)
	}
	return nil
}

// validateKeys looks at what Redlock has as well.
func (o options) validateKeys() error {
	switch {
	case o.prefix == "" || len(o.prefix) > maxPrefix || !utf8.ValidString(o.prefix) || strings.ContainsFunc(o.prefix, isControl):
		return fmt.Errorf("redislock: Prefix %q: want 1 to %d bytes of UTF-8 without control characters", o.prefix, maxPrefix)
	case !separates(o.prefix):
		return fmt.Errorf("redislock: Prefix %q: want it to end with a colon, without \"::\" or \":@\"", o.prefix)
	case !tagged(o.prefix):
		return fmt.Errorf("redislock: Prefix %q: want a hash tag such as \"{locks}:\", or no braces", o.prefix)
	case o.retention < MinRetention:
		return fmt.Errorf("redislock: Retention %s: want at least %s", o.retention, MinRetention)
	}
	return nil
}

// tagged says whether a prefix with a brace is one with a hash tag. Otherwise the braces of a record would be none.
func tagged(prefix string) bool {
	_, tag, brace := strings.Cut(prefix, "{")
	return !brace || strings.IndexByte(tag, '}') > 0
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
