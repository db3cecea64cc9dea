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

// ErrStale says that a script was not run: a newer holder has written, or sealed, since the token was granted.
// Stop; another attempt with the same lease cannot succeed.
var ErrStale = errors.New("redislock: a newer holder has been here")

var errNoToken = errors.New("redislock: a guarded script needs the token of a lease, which is larger than zero")

//go:embed lua/guard.lua
var guardLua string

// Guard is a Lua script for data in Redis that runs only for the newest holder of a lock. It is safe for
// concurrent use.
type Guard struct{ script redisbase.Script }

// NewGuard puts a check of the token in front of lua, in the same script, so that nothing comes between.
// lua sees the KEYS and ARGV that are given to Run, and is a script as Redis runs it otherwise, but for a first
// line that begins with #!, which it cannot have.
func NewGuard(lua string) *Guard { return &Guard{redisbase.NewScript(guardLua + lua)} }

var sealing = NewGuard("return 1")

// Run runs the script unless mark, a key beside the data, has seen a larger token than token; then the
// error is [ErrStale] and nothing is changed. On a Cluster, mark and keys must be of one slot. The mark is
// a string, the largest token seen, and never expires: as long as data may be written, it must stay.
//
// ctx bounds the call as far as the client heeds it. Other errors are the server's or the client's; after
// one that is not the server's, the script may have run.
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

// Seal raises mark to token, before the first read of a hold: what an older holder writes afterwards is
// refused, so that nothing changes behind what is read. Its errors are those of [Guard.Run].
func Seal(ctx context.Context, client redis.Scripter, mark string, token driver.Token) error {
	_, err := sealing.Run(ctx, client, mark, token, nil)
	return err
}
