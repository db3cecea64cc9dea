package redislock

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// ErrStale is returned if a script was not run, because a newer holder has already called [Guard.Run] or [Seal]. The
// holder must stop: a retry with the same lease cannot succeed.
var ErrStale = errors.New("redislock: a newer holder has written or sealed")

var errNoToken = errors.New("redislock: a guarded script needs the token of a lease, and tokens are larger than zero")

//go:embed lua/guard.lua
var guardLua string

// Guard is a Lua script for data in Redis that runs only for the newest holder of a lock. It is safe for concurrent
// use.
type Guard struct{ script redisbase.Script }

// NewGuard returns a guard for a script of the caller. The guard puts its check of the token and the caller's script
// into one script, so that no other command runs between them. The parameter lua is the caller's script: any Redis
// script that does not begin with a #! line. In that script, KEYS and ARGV are the keys and args that are given to Run.
func NewGuard(lua string) *Guard { return &Guard{redisbase.NewScript(guardLua + lua)} }

var sealing = NewGuard("return 1")

// Run runs the script. The parameter mark is the key of a string that holds the largest token seen so far. If that
// token is larger than token, Run changes nothing and returns [ErrStale]. On a Cluster, mark and keys must be in one
// slot. The mark never expires. Do not delete the mark while an old holder may still write the data.
//
// Readers that hold the lock together have one token (see rowlock.Shared). So Run accepts the scripts of all these
// readers, and does not check whether each reader still has its share. After the next writer has called Run or Seal,
// Run returns ErrStale to all of them. Use an exclusive lease for a script that writes.
//
// When ctx ends, Run returns early only if the client has the option ContextTimeoutEnabled. Errors other than ErrStale
// come from the server or the client. After an error of the client, the script may have run.
func (g *Guard) Run(ctx context.Context, client redis.Scripter, mark string, token driver.Token, keys []string, args ...any) (any, error) {
	if token <= 0 {
		return nil, errNoToken
	}
	value, err := redisbase.Run(ctx, client, g.script.On(append([]string{mark}, keys...), append([]any{token.String()}, args...)...)).Result()
	var said redis.Error
	if errors.As(err, &said) && strings.HasPrefix(said.Error(), "STALE") {
		err = ErrStale
	}
	return value, err
}

// Seal raises mark to token. Call Seal after each Acquire, before the new holder's first read. Later writes of older
// holders are then rejected. So no older holder changes the data after the new holder has read it. Seal returns the
// same errors as [Guard.Run].
func Seal(ctx context.Context, client redis.Scripter, mark string, token driver.Token) error {
	_, err := sealing.Run(ctx, client, mark, token, nil)
	return err
}
