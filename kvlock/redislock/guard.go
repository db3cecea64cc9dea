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

// ErrStale is returned when a script was not run, because a newer holder has written or sealed since the token was
// granted. The holder must stop: a retry with the same lease cannot succeed.
var ErrStale = errors.New("redislock: a newer holder has written or sealed")

var errNoToken = errors.New("redislock: a guarded script needs the token of a lease, and tokens are larger than zero")

//go:embed lua/guard.lua
var guardLua string

// Guard is a Lua script for data in Redis that runs only for the newest holder of a lock. It is safe for concurrent
// use.
type Guard struct{ script redisbase.Script }

// NewGuard combines a token check and lua into one script, so that no other command runs between the check and the
// caller's script lua. In lua, KEYS and ARGV are the keys and args that are given to Run. It may be any Redis script,
// but must not begin with a #! line.
func NewGuard(lua string) *Guard { return &Guard{redisbase.NewScript(guardLua + lua)} }

var sealing = NewGuard("return 1")

// Run runs the script. The parameter mark is the key of a string that holds the largest token seen so far. If that
// token is larger than token, Run changes nothing and returns [ErrStale]. On a Cluster, mark and keys must be in one
// slot. The mark never expires. Keep it for as long as the data may be written.
//
// Readers that hold the lock together have one token (see rowlock.Shared). So Run runs the scripts of all of them, and
// does not check whether each reader still has its share. It returns ErrStale for all of them after the next writer has
// written or sealed. A script that writes belongs under an exclusive lease.
//
// When ctx ends, Run returns early only if the client supports this. Errors other than ErrStale come from the server or
// the client. After an error of the client, the script may have run.
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
// holders are then rejected, so the data do not change after the new holder has read them. Seal returns the same errors
// as [Guard.Run].
func Seal(ctx context.Context, client redis.Scripter, mark string, token driver.Token) error {
	_, err := sealing.Run(ctx, client, mark, token, nil)
	return err
}
