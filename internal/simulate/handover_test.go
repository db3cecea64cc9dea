package simulate_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// turn acquires the lock, holds it briefly, and releases it. It returns an error text if ctx has not ended
// and Acquire fails, or if the lease is lost. A lease must not be lost, because the TTL is longer
// than all delays together.
func (v *verdict) turn(l *rowlock.Locker, ctx context.Context) string {
	lease, err := l.Acquire(ctx, "a")
	if err != nil {
		if ctx.Err() == nil {
			return err.Error()
		}
		return ""
	}
	s := span{token: lease.Token(), begin: time.Now()}
	time.Sleep(10 * time.Millisecond)
	s.end = time.Now()
	v.add(s)
	if err := lease.Release(background); errors.Is(err, rowlock.ErrLost) {
		return err.Error()
	}
	return ""
}

// handOverSchedule lets a holder release the lock while two waiters of its process and one waiter of another process
// wait. The first waiter waits for at most the duration patience. From the first release on, the requests get the
// troubles of the path, one after the other.
func handOverSchedule(t *testing.T, path []int, patience time.Duration, wrap func(*memlock.Backend) driver.Backend) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		mem := memlock.New()
		l, other := locker(t, wrap(mem)), locker(t, wrap(mem))
		first := acquire(t, l, "a")
		var v verdict
		results := make([]string, 3)
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		var wg sync.WaitGroup
		for i, who := range []func() string{
			func() string { return v.turn(l, ctx) },
			func() string { return v.turn(l, background) },
			func() string { return v.turn(other, background) },
		} {
			wg.Go(func() { results[i] = who() })
			time.Sleep(time.Microsecond)
		}
		time.Sleep(50 * time.Millisecond) // so short that the release hands the lock over to a waiter of the same process
		synctest.Wait()
		next := along(path)
		mem.Intercept(func(memlock.Call) memlock.Fault { return next().Fault })
		time.AfterFunc(patience, cancel)
		began := time.Now()
		err := first.Release(background)
		wg.Wait()
		wrong = cmp.Or(v.of(), results[0], results[1], results[2])
		if took := time.Since(began); wrong == "" && took > 20*time.Second { // less than the TTL, which is 30 s
			wrong = fmt.Sprintf("the last waiter was served after %s", took)
		}
		if wrong == "" && errors.Is(err, rowlock.ErrLost) {
			wrong = "the first release: " + err.Error()
		}
		time.Sleep(15 * time.Second) // waits until requests in progress and releases in the background have ended
		if s, _ := mem.Inspect(background, driver.Key{Name: "a"}); wrong == "" && s.State == driver.StateHeld {
			wrong = fmt.Sprintf("left behind: %+v", s)
		}
	})
	return wrong
}

func exploreHandOver(t *testing.T, depth int, wrap func(*memlock.Backend) driver.Backend) (wrong string, schedules int) {
	for _, patience := range []time.Duration{time.Hour, 0, 100 * time.Millisecond} {
		wrong, n := everyPath(depth, 7, func(path []int) string { return handOverSchedule(t, path, patience, wrap) })
		if schedules += n; wrong != "" {
			return fmt.Sprintf("patience %s, %s", patience, wrong), schedules
		}
	}
	return "", schedules
}

// A release hands the lock over to a waiter, while the first requests and replies are slow, late or lost,
// in every combination. The waiter may keep waiting, or its ctx may end at once or during the hand-over.
// In each schedule no lease is lost, no lock is granted twice, no waiter starves, no release reports a loss,
// and no lock stays held.
func TestEveryScheduleOfAHandOver(t *testing.T) {
	start := time.Now()
	wrong, n := exploreHandOver(t, exploreDepth(t, 4), honest)
	require.Empty(t, wrong)
	rate(t, n, start)
}

// forgetful is a faulty store: it does not record the new holder of a hand-over, and grants the lock to the next
// process that requests it.
type forgetful struct{ *memlock.Backend }

func (f forgetful) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := f.Backend.HandOver(ctx, from, r)
	if err == nil {
		_ = f.Backend.Release(ctx, g)
	}
	return g, err
}

// The exploration detects a store that forgets the new holder of a hand-over.
func TestExplorationFindsAForgetfulStore(t *testing.T) {
	wrong, n := exploreHandOver(t, 2, func(b *memlock.Backend) driver.Backend { return forgetful{b} })
	assert.NotEmpty(t, wrong)
	t.Logf("after %d schedules: %s", n, wrong)
}
