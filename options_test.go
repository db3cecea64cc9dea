package rowlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// If an option is invalid, New or the call returns an error that names the option.
func TestBadOptionsAreNamed(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for want, opt := range map[string]rowlock.Option{
		"TTL(0s)":              rowlock.TTL(0),
		"TTL(49ms)":            rowlock.TTL(49 * time.Millisecond),
		"TTL(200h0m0s)":        rowlock.TTL(200 * time.Hour),
		"RenewEvery(0s)":       rowlock.RenewEvery(0),
		"RenewEvery(16s)":      rowlock.RenewEvery(16 * time.Second),
		"Margin(-1ns)":         rowlock.Margin(-1),
		"Margin(16s)":          rowlock.Margin(16 * time.Second),
		"Wait(-1ns)":           rowlock.Wait(-1),
		"MinHold(-1ns)":        rowlock.MinHold(-1),
		"MaxHold(-1ns)":        rowlock.MaxHold(-1),
		"HandoverDelay(-1ns)":  rowlock.HandoverDelay(-1),
		"Namespace(\"x":        rowlock.Namespace(long),
		"Namespace(\"a\\x00\"": rowlock.Namespace("a\x00"),
		"Holder(\"\\xff\"":     rowlock.Holder("\xff"),
		"Note(\"x":             rowlock.Note(long),
	} {
		_, err := rowlock.New(memlock.New(), opt)
		require.ErrorContains(t, err, want)
		l := locker(t, memlock.New())
		_, err = l.Acquire(background, "a", opt)
		require.ErrorContains(t, err, want)
		assert.Less(t, len(err.Error()), 200, "the message stays short")
	}
	_, err := rowlock.New(nil)
	require.ErrorContains(t, err, "backend is nil")
}

// Promise 6 of docs/guarantees.md: only the deadline makes a lease lost, so the first renewal must be due before the
// deadline. New rejects options that contradict this rule, and the error names both options.
func TestRenewalIsDueBeforeTrustEnds(t *testing.T) {
	_, err := rowlock.New(memlock.New(), rowlock.TTL(10*time.Second), rowlock.RenewEvery(5*time.Second), rowlock.Margin(5*time.Second))
	require.ErrorContains(t, err, "RenewEvery(5s)")
	require.ErrorContains(t, err, "margin of 5s")
}

// The smallest and largest permitted values of the options are accepted.
func TestTheBoundsOfOptionsWork(t *testing.T) {
	for _, opts := range [][]rowlock.Option{
		{rowlock.TTL(50 * time.Millisecond)},
		{rowlock.TTL(7 * 24 * time.Hour)},
		{rowlock.Margin(0)},
		{rowlock.TTL(10 * time.Second), rowlock.Margin(5 * time.Second)},
		{rowlock.RenewEvery(time.Millisecond)},
		{rowlock.TTL(10 * time.Second), rowlock.RenewEvery(5 * time.Second)},
		{rowlock.MinHold(7 * 24 * time.Hour)},
		{rowlock.HandoverDelay(7 * 24 * time.Hour)},
		{rowlock.Holder(strings.Repeat("x", 256)), rowlock.Note(strings.Repeat("x", 1024)), rowlock.Namespace(strings.Repeat("x", 128))},
	} {
		_, err := rowlock.New(memlock.New(), opts...)
		require.NoError(t, err)
	}
	for want, opt := range map[string]rowlock.Option{
		"MinHold(168h0m1s)":       rowlock.MinHold(7*24*time.Hour + time.Second),
		"HandoverDelay(168h0m1s)": rowlock.HandoverDelay(7*24*time.Hour + time.Second),
		"TTL(168h0m1s)":           rowlock.TTL(7*24*time.Hour + time.Second),
	} {
		_, err := rowlock.New(memlock.New(), opt)
		require.ErrorContains(t, err, want)
	}
}

// stingy is a store that grants and renews leases for a fifth of the requested TTL.
type stingy struct{ *memlock.Backend }

func (s stingy) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.TTL /= 5
	return s.Backend.Acquire(ctx, r)
}

// Promise 6 of docs/guarantees.md: a lease is renewed in time even if the store granted much less than was requested.
func TestAShortGrantIsRenewedInTime(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, stingy{store}, rowlock.TTL(10*time.Second), rowlock.Margin(2*time.Second)), "a")
		time.Sleep(time.Minute)
		require.NoError(t, lease.Err())
	})
}

// If a name is invalid, the call reports the name, and sends no request.
func TestBadNamesAreNamed(t *testing.T) {
	store := memlock.New()
	l := locker(t, store)
	for name, why := range map[string]string{
		"":                       "name is empty",
		"a\x00b":                 "NUL",
		"\xff":                   "UTF-8",
		strings.Repeat("x", 513): "512",
	} {
		_, err := l.TryAcquire(background, name)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, "name")
	}
	assert.Zero(t, store.Calls(memlock.OpAcquire))
	acquire(t, l, strings.Repeat("x", 512))
}

// Options of a call replace the options of New. Defaults that depend on the replaced options are computed again.
func TestOptionsOfACallReplaceTheDefaults(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(time.Minute), rowlock.Holder("default"))
		lease := acquire(t, l, "a", rowlock.TTL(time.Second), rowlock.Holder("mine"))
		assert.Equal(t, "mine", lease.Holder())
		assert.Equal(t, 900*time.Millisecond, time.Until(lease.ExpiresAt()))
		assert.Equal(t, "default", acquire(t, l, "b").Holder())
	})
}

// Require makes New fail if the backend does not meet the requirement. The error names the backend and the requirement.
func TestRequire(t *testing.T) {
	_, err := rowlock.New(memlock.New(), rowlock.Require(rowlock.LinearizableToken, rowlock.Notifications))
	require.NoError(t, err)
	_, err = rowlock.New(memlock.New(), rowlock.Require(rowlock.FairQueue))
	require.ErrorContains(t, err, "memlock")
	require.ErrorContains(t, err, "order of the requests")
	_, err = rowlock.New(modest{memlock.New()}, rowlock.Require(rowlock.LinearizableToken))
	require.ErrorContains(t, err, "not linearizable", "an empty Capabilities promises nothing")
	_, err = locker(t, memlock.New()).Acquire(background, "a", rowlock.Require(rowlock.FairQueue))
	require.Error(t, err)
}

// modest is a store that claims no guarantees.
type modest struct{ *memlock.Backend }

func (modest) Capabilities() driver.Capabilities { return driver.Capabilities{} }

type unfit struct{ *memlock.Backend }

func (unfit) Capabilities() driver.Capabilities {
	return driver.Capabilities{Invalid: errors.New("table \"a b\"")}
}

// New returns the error of a backend whose own options are invalid.
func TestNewAsksTheBackendForItsOptions(t *testing.T) {
	_, err := rowlock.New(unfit{memlock.New()})
	require.ErrorContains(t, err, `table "a b"`)
}

// The text of a HeldError is one sentence for an operator.
func TestHeldErrorIsASentence(t *testing.T) {
	since := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for want, err := range map[string]rowlock.HeldError{
		`"a" is held`: {Name: "a"},
		`"ns/a" is held by job@web-1:4711 since 2026-11-21 03:00:00 UTC, lease ends in 24s unless renewed (token 7): nightly; waited 1m0s`: {
			Namespace: "ns", Name: "a", Holder: "job@web-1:4711", Since: since, ExpiresIn: 24 * time.Second, Token: 7, Note: "nightly", Waited: time.Minute,
		},
		`"a" is closed until its minimum hold is over, last held by job since 2026-11-21 03:00:00 UTC, free in 300ms (token 7)`: {
			Name: "a", Reason: driver.MinHold, Holder: "job", Since: since, ExpiresIn: 300 * time.Millisecond, Token: 7,
		},
		`"a" is held by "b\x1b[2J\r\nc": "\u009b\u202e"`:      {Name: "a", Holder: "b\x1b[2J\r\nc", Note: "\u009b\u202e"}, // the note is quoted, because a terminal would interpret its control characters
		`"a" is closed after a change of server, free in 30s`: {Name: "a", Reason: driver.Quarantine, ExpiresIn: 30 * time.Second},
		// the durations are rounded
		`"a" is held, lease ends in 1m1s unless renewed; waited 1.2s`:  {Name: "a", ExpiresIn: 61400 * time.Millisecond, Waited: 1234567 * time.Microsecond},
		`"a" is held, lease ends in 59.9s unless renewed; waited 12ms`: {Name: "a", ExpiresIn: 59940 * time.Millisecond, Waited: 12345 * time.Microsecond},
	} {
		assert.Equal(t, want, err.Error())
		require.ErrorIs(t, &err, rowlock.ErrHeld)
	}
}
