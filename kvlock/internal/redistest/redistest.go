// Package redistest contains helpers that the tests of packages redislock and redlock share.
package redistest

import (
	"context"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// AtMost is the longest time for which a test waits for an event. It is long enough for a loaded machine, and three
// times as long as a waiter that relies on notifications waits between two polls.
const AtMost = time.Minute

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Silence stops the client from logging each connection that is reset.
func Silence() { redis.SetLogger(silent{}) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// promptly makes a server send its data to a new replica at once.
var promptly = []string{"--repl-diskless-sync-delay", "0"}

// Start returns a server that only one test uses. The test may kill, flush and reconfigure it. A server with additional
// arguments is started for the test. A server without comes from the pool.
func Start(tb testing.TB, args ...string) *testserver.Server {
	tb.Helper()
	testenv.DSN(tb, testenv.EngineRedis) // skips the test if the launcher could not start a server
	if len(args) == 0 {
		return borrow(tb, testserver.Redis)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := testserver.Start(ctx, testserver.Redis, testserver.Options{Args: append(slices.Clip(promptly), args...)})
	must(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// StartValkey does the same as Start, with a Valkey server.
func StartValkey(tb testing.TB) *testserver.Server {
	tb.Helper()
	testenv.DSN(tb, testenv.EngineValkey)
	return borrow(tb, testserver.Valkey)
}

// Connect returns a client that is closed when the test ends.
func Connect(tb testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Request makes a request for a name with a new nonce.
func Request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 20 * time.Second, Holder: "test", Note: name}
}

// Acquire sends r, and fails the test unless the lock is granted.
func Acquire(tb testing.TB, b driver.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	g, err := b.Acquire(context.Background(), r)
	must(tb, err)
	return g
}

// LockerOn returns a locker that is closed when the test ends.
func LockerOn(tb testing.TB, b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	tb.Helper()
	l, err := rowlock.New(b, opts...)
	must(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// account is the user whose rights tests limit.
const account = "locks"

// WithoutChannels gives the account "locks" all rights, except access to channels.
func WithoutChannels(tb testing.TB, admin *redis.Client) {
	tb.Helper()
	must(tb, admin.Do(context.Background(), "ACL", "SETUSER", account, "on", ">secret", "resetchannels", "~*", "+@all").Err())
}

// Recommended returns the command that a page of docs recommends for the account "locks". The path begins at the package
// of the test.
func Recommended(tb testing.TB, page string) (command []any) {
	tb.Helper()
	text, err := os.ReadFile(page)
	must(tb, err)
	rule := regexp.MustCompile("`(ACL SETUSER locks [^`]*)`").FindSubmatch(text)
	if rule == nil {
		tb.Fatalf("%s has no rule for the account", page)
	}
	for _, word := range strings.Fields(string(rule[1])) {
		command = append(command, word)
	}
	return command
}

// AsLocks returns a client of the account "locks", and a counter of the connections that the client has opened.
func AsLocks(tb testing.TB, addr string) (*redis.Client, *atomic.Int64) {
	dialled := new(atomic.Int64)
	c := redis.NewClient(&redis.Options{
		Addr: addr, Username: account, Password: "secret",
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	})
	tb.Cleanup(func() { _ = c.Close() })
	return c, dialled
}

// Forget deletes the key of a released lock, as the server does after five minutes.
func Forget(tb testing.TB, c redis.Cmdable, key string) {
	tb.Helper()
	ctx := context.Background()
	if left := c.PTTL(ctx, key).Val(); left <= 0 || left > 5*time.Minute {
		tb.Fatalf("%s expires in %s", key, left)
	}
	must(tb, c.Del(ctx, key).Err())
}

// ageLua moves the end of a lease into the past.
const ageLua = `local row = redis.call('HMGET', KEYS[1], 'expires_at', 'held_until')
local time = redis.call('TIME')
local past = tonumber(row[1]) - (time[1] * 1000000 + time[2])
if past > 0 then
    redis.call('HSET', KEYS[1], 'expires_at', string.format('%.0f', row[1] - past), 'held_until', string.format('%.0f', row[2] - past))
end`

// Age makes the lock in key expire.
func Age(ctx context.Context, c redis.Scripter, key string) error {
	err := c.Eval(ctx, ageLua, []string{key}).Err()
	if err == redis.Nil { //nolint:errorlint // the script returns nothing
		return nil
	}
	return err
}
