package sqlitefile

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writes implements the interface eye for tests with virtual time. It simulates a file that is written at the times in
// the field at.
type writes struct {
	at   []time.Time
	stop chan struct{}
}

func (w *writes) wait(until time.Time) bool {
	if len(w.at) > 0 && w.at[0].Before(until) {
		until = w.at[0]
	}
	select {
	case <-time.After(time.Until(until)):
	case <-w.stop:
		return false
	}
	seen := false
	for len(w.at) > 0 && !time.Now().Before(w.at[0]) {
		w.at, seen = w.at[1:], true
	}
	return seen
}
func (w *writes) interrupt() { close(w.stop) }
func (w *writes) close()     {}

// Watch reports a change at once, and repeats the report with delays that double up to a second. A file that is
// written continuously is reported once in a millisecond.
func TestWatchEchoesAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := &writes{stop: make(chan struct{})}
		for i := range 100 { // simulates a write every 100 µs, for 10 ms
			w.at = append(w.at, start.Add(10*time.Second+time.Duration(i)*100*time.Microsecond))
		}
		var calls []time.Duration
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		watch(ctx, w, func() { calls = append(calls, time.Since(start)) })
		ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
		assert.Equal(t, []time.Duration{0, ms(1), ms(3), ms(7), ms(15), ms(31)}, calls[:6])
		var during, after []time.Duration
		for _, at := range calls {
			switch since := at - 10*time.Second; {
			case since < 0:
			case since <= ms(11):
				during = append(during, since)
			default:
				after = append(after, at)
			}
		}
		assert.Equal(t, []time.Duration{0, ms(1), ms(2), ms(3), ms(4), ms(5), ms(6), ms(7), ms(8), ms(9), ms(10), ms(11)}, during)
		for i := 1; i < len(after); i++ {
			assert.LessOrEqual(t, after[i]-after[i-1], time.Second)
		}
		assert.Less(t, len(after), 16)
	})
}

// inotify and polling both detect a write to the log, a write to the file if there is no log, and a write to a log
// that was created later.
func TestAWriteIsSeen(t *testing.T) {
	for name, see := range map[string]func(string) eye{"kernel": open, "stat": func(p string) eye { return newStatEye(p) }} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "locks.db")
			write := func(path string) {
				f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				require.NoError(t, err)
				_, err = f.WriteString("x")
				require.NoError(t, err)
				require.NoError(t, f.Close())
			}
			require.Error(t, Watchable(path))
			write(path)
			require.NoError(t, Watchable(path))
			ctx, cancel := context.WithCancel(t.Context())
			watch(ctx, see(path), cancel) // returns, because the first call of changed cancels ctx

			e := see(path)
			defer e.close()
			e.wait(time.Now()) // earlier writes
			for _, written := range []string{path, path + "-wal", path + "-wal"} {
				if written != path {
					write(written) // the first write may create the log
					e.wait(time.Now())
				}
				write(written)
				assert.True(t, e.wait(time.Now().Add(10*time.Second)), written)
			}
			time.AfterFunc(time.Millisecond, e.interrupt)
			assert.False(t, e.wait(time.Now().Add(time.Hour)), "interrupted")
			assert.False(t, e.wait(time.Now().Add(time.Hour)), "and from then on")
		})
	}
}
