package redlock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// unreachable returns a locker whose nodes cannot be reached.
func unreachable(t *testing.T) *rowlock.Locker {
	t.Helper()
	var nodes []*redis.Client
	for _, addr := range []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"} {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = c.Close() })
		nodes = append(nodes, c)
	}
	b := redlock.New(nodes)
	t.Cleanup(func() { _ = b.Close() })
	l, err := rowlock.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Redlock grants no shared locks. The error says so, and no request is sent.
func TestSharedIsRefused(t *testing.T) {
	t.Parallel()
	_, err := unreachable(t).Acquire(t.Context(), "x", rowlock.Shared())
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "backend redlock grants no shared locks")
}

// Redlock keeps no ticks. The error of rowlock.Once says so, and the function is not called.
func TestOnceIsRefused(t *testing.T) {
	t.Parallel()
	err := rowlock.Once(t.Context(), unreachable(t), "job", "2026-11-23", func(context.Context, *rowlock.Lease) error {
		return errors.New("must not be called")
	})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "backend redlock keeps no ticks")
}
