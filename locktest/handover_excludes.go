package locktest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rowlock/rowlock/driver"
)

func handOverExcludes(t *trial) {
	a := t.open()
	hand := t.needHandOver(a)
	const rivals, times = 3, 30
	g := t.grant(a, t.request(t.key("x")))
	var asked atomic.Int64
	var over atomic.Bool // ends the rivals; with some poolers, cancelling their requests would break other connections
	granted := make(chan string, rivals)
	var asking sync.WaitGroup
	t.cleanup(func() { // runs before the clients are closed
		over.Store(true)
		asking.Wait()
	})
	for range rivals {
		b := t.open()
		key := g.Key
		asking.Go(func() { granted <- t.rival(b, key, &asked, &over) })
	}
	for n := range times {
		next := t.request(g.Key)
		after := t.handOver(hand, g, next)
		t.rises(g.Token, after.Token)
		g = after
		t.isHeldAtLast(a, g)
		t.poll("other clients send requests meanwhile", func() bool { return asked.Load() > int64(n) })
	}
	over.Store(true)
	for range rivals {
		if wrong := <-granted; wrong != "" {
			t.fatalf("%s", wrong)
		}
	}
	t.release(a, g)
}

// rival requests a key that is never free, until the flag over is true. It returns a text that says what was wrong, or
// an empty text.
func (t *trial) rival(b driver.Backend, key driver.Key, asked *atomic.Int64, over *atomic.Bool) string {
	for !over.Load() {
		g, err := b.Acquire(t.ctx, t.request(key))
		var held *driver.Held
		switch {
		case err == nil:
			return "token " + g.Token.String() + " was granted during a hand-over"
		case !errors.As(err, &held):
			return "acquire: neither a grant nor a *driver.Held: " + err.Error()
		}
		asked.Add(1)
	}
	return ""
}

// isHeldAtLast does the same as isHeld, but retries if the outcome is unknown. Another client may be changing the
// lock's row.
func (t *trial) isHeldAtLast(b driver.Backend, g driver.Grant) {
	t.poll("an outcome other than unknown", func() bool {
		switch got := t.renew(b, g); got {
		case driver.Lost:
			t.fatalf("renewal of token %d, which is held: want renewed, got %s", g.Token, got)
			return false
		default:
			return got == driver.Renewed
		}
	})
}
