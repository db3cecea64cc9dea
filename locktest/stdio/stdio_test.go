//go:build unix

package stdio

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/stdiotimes"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

// programVariable makes the test's program answer requests, with the defect that the variable contains.
const programVariable = "ROWLOCK_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if defect, ok := os.LookupEnv(programVariable); ok {
		serve(defect)
		return
	}
	goleak.VerifyTestMain(m)
}

// nowhere is the address of a store that the programs of these tests never contact.
const nowhere = "postgresql://127.0.0.1:9/none"

// ready answers the first request, for the capabilities.
const ready = `read line; echo '{"id":1,"tokens":"linearizable","leases":true}'; `

func shell(t *testing.T, script string) *Harness {
	t.Helper()
	h, err := New(nowhere, "sh", "-c", script)
	require.NoError(t, err)
	h.limits.call, h.limits.end = 2*time.Second, 2*time.Second // most scripts never answer, and never end by themselves
	t.Cleanup(func() { _ = h.CloseAll() })
	return h
}

// A program that cannot be used gives one error at once, which says what the program did.
func TestAProgramThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const silent = "exec sleep 60"
	for script, want := range map[string]string{
		"echo oh >&2; exit 3":             "the program has ended: exit status 3; its stderr ends with: oh",
		"echo hello; sleep 60":            `the program wrote a line to stdout that is no reply: "hello"`,
		"echo '{}'; sleep 60":             `the program wrote a line to stdout that is no reply: "{}"`,
		`echo '{"id":7}'; sleep 60`:       "the program replied to the request 7, which was never sent",
		`read line; echo '{"id":1}'; cat`: `its tokens are ""`,
		silent:                            `the program sent no reply to "capabilities"`,
		"exec 0<&- 1>&-; exec sleep 60":   "the program has ended: signal: killed",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if script == silent {
				limit = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := Check(ctx, shell(t, script), func(r locktest.Result) { t.Errorf("%s was run", r.Case) })
			require.ErrorContains(t, err, want)
		})
	}
	_, err := New(nowhere)
	require.ErrorContains(t, err, "the program is missing")
	h, err := New(nowhere, "/no/such/program")
	require.NoError(t, err)
	require.ErrorContains(t, Check(t.Context(), h, nil), "start the program")
}

// If a program dies or hangs later, the cases fail with an error that says so, and the run ends.
func TestAProgramThatFailsLater(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		ready + "read line; exit 4":                                         "the program has ended: exit status 4",
		ready + "read line; echo nonsense; cat":                             "that is no reply",
		ready + `read line; echo '{"id":2,"error":"oops"}'; cat >/dev/null`: `an error "oops" that the protocol does not have`,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			var sum Summary
			err := Check(t.Context(), shell(t, script), func(r locktest.Result) { sum.Add(r) }, "excludes", "program-stops-first")
			assert.Equal(t, Summary{Failed: 2}, sum)
			require.ErrorContains(t, err, want)
		})
	}
}

// A call ends with its context, even if the program does not read its stdin.
func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := shell(t, ready+"exec sleep 60")
	h.limits.call = time.Minute // the context ends first
	b, err := h.Open(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 3 {
		begin := time.Now()
		err := b.Release(ctx, driver.Grant{Key: driver.Key{Name: string(make([]byte, 200_000))}})
		require.ErrorContains(t, err, "")
		assert.Less(t, time.Since(begin), 30*time.Second)
	}
	require.NoError(t, h.Crash(b))
	err = b.Release(t.Context(), driver.Grant{})
	require.ErrorContains(t, err, "the program has ended: signal: killed")
	require.False(t, driver.IsNotApplied(err), "the outcome of a call to a dead program is unknown")
}

// A program must end when its stdin ends.
func TestAProgramThatDoesNotEndIsKilled(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"exec sleep 60", "sleep 60"} { // in the second script, another process keeps stdout open
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			h := shell(t, ready+script)
			_, err := h.Open(t.Context())
			require.NoError(t, err)
			require.ErrorContains(t, h.CloseAll(), "was killed")
		})
	}
}

// A program serves the next client, unless a fault has disturbed it, or it owes a reply.
func TestAProgramServesTheNextClient(t *testing.T) {
	t.Parallel()
	h := shell(t, ready+"cat >/dev/null")
	next := func() (driver.Backend, *program) {
		b, err := h.Open(t.Context())
		require.NoError(t, err)
		return b, b.(*client).program
	}
	b, first := next()
	require.NoError(t, h.Close(b))
	b, second := next()
	assert.Same(t, first, second)
	require.NoError(t, h.Cut(b))
	require.NoError(t, h.Close(b))
	b, third := next()
	assert.NotSame(t, second, third)
	ctx, cancel := context.WithCancel(t.Context())
	released := make(chan error, 1)
	go func() { released <- b.Release(ctx, driver.Grant{}) }()
	require.Eventually(t, func() bool { return !third.isIdle() }, time.Minute, time.Millisecond)
	cancel()
	require.Error(t, <-released)
	require.NoError(t, h.Close(b))
	_, fourth := next()
	assert.NotSame(t, third, fourth)
}

// The proxy replaces the host of an address, and nothing else.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for store, want := range map[string][2]string{
		"postgres://u:p@db/app?x=1":       {"postgres://u:p@PROXY/app?x=1", "db:5432"},
		"postgresql://db:6543":            {"postgresql://PROXY", "db:6543"},
		"mysql://u@db:1/app":              {"mysql://u@PROXY/app", "db:1"},
		"root:p@tcp(127.0.0.1:3307)/x?y=": {"root:p@tcp(PROXY)/x?y=", "127.0.0.1:3307"},
		"redis://[::1]/0":                 {"redis://PROXY/0", "[::1]:6379"},
	} {
		at, err := find(store)
		require.NoError(t, err, store)
		assert.Equal(t, want, [2]string{store[:at.begin] + "PROXY" + store[at.end:], at.target})
	}
	for _, store := range []string{"", "local", "sqlite:x.db", "etcd://a:1,b:2", "what://db"} {
		_, err := find(store)
		require.ErrorContains(t, err, "URL with one host", store)
	}
}

// fullProgram starts the test's own program with the defect, and a database of its own.
func fullProgram(t *testing.T, defect string) *Harness {
	t.Helper()
	dsn := testenv.Postgres(t)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres))
	h, err := New(dsn, "env", programVariable+"="+defect, os.Args[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.CloseAll()) })
	return h
}

// A program may have shares, ticks, pauses and the operations of an operator. Then the cases for these run, too.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	var sum Summary
	ctx := stdiotimes.With(context.Background(), stdiotimes.Times{Patience: 20 * time.Second, KeptTTL: 5 * time.Second, GivenUpTTL: time.Minute})
	_ = Check(ctx, fullProgram(t, ""), func(r locktest.Result) {
		sum.Add(r)
		var not *locktest.NotRun
		if !errors.As(r.Err, &not) {
			assert.NoError(t, r.Err)
			return
		}
		for _, what := range []string{"driver.HandOverer", "driver.Batcher", "driver.Notifier", "locktest.Expirer", "locktest.Restarter", "locktest.Counter", "locktest.Limited", "lock, trust and unlock"} {
			if strings.Contains(not.Reason, what) {
				return
			}
		}
		t.Errorf("%v", not)
	})
	t.Log(sum.String())
}

// Each operation that a program may have is judged: a case fails if a program breaks its promise.
func TestBrokenOperationsAreCaught(t *testing.T) {
	t.Parallel()
	for defect, name := range map[string]string{
		"grants no share":         "shared-grants-share",
		"records no tick":         "tick-is-recorded",
		"lists all namespaces":    "inspector-lists",
		"always shows the holder": "inspector-sees",
		"ends a live lease":       "force-needs-the-token",
		"prunes held locks":       "tokens-rise-after-prune",
		"releases for a pause":    "pause-closes",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			var found *locktest.Failure
			require.ErrorAs(t, Check(context.Background(), fullProgram(t, defect), func(locktest.Result) {}, name), &found)
			assert.Equal(t, name, found.Case)
			t.Log(found)
		})
	}
}
