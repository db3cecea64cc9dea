package testenv

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Redis returns the URL of a Redis server, and a prefix that no other test has. When the test ends, it
// deletes the keys with the prefix. Tests share the server, so they must not delete other keys.
func Redis(tb testing.TB) (url, prefix string) {
	tb.Helper()
	return freshPrefix(tb, DSN(tb, EngineRedis))
}

// Valkey does the same as Redis, with a Valkey server.
func Valkey(tb testing.TB) (url, prefix string) {
	tb.Helper()
	return freshPrefix(tb, DSN(tb, EngineValkey))
}

func freshPrefix(tb testing.TB, url string) (string, string) {
	tb.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatalf("not a URL of go-redis: %q: %v", url, err)
	}
	prefix := freshName() + ":"
	tb.Cleanup(func() {
		ctx, cancel := bounded()
		defer cancel()
		client := redis.NewClient(options)
		defer client.Close()
		if err := forgetPrefix(ctx, client, prefix); err != nil {
			tb.Errorf("delete the keys %s*: %v", prefix, err)
		}
	})
	return url, prefix
}

func forgetPrefix(ctx context.Context, client *redis.Client, prefix string) error {
	keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
