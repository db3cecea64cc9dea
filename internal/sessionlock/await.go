package sessionlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// AwaitBy implements [Queuer].Await for a server that lets a session wait for a limited time: it repeats that wait.
// The function wait waits once, for at most the duration each. It returns the token and whether the lock was granted.
//
// After each wait, refusal reports the current holder, or why the session is broken. AwaitBy does not call
// refusal before the first wait, because the caller has just been refused. With frequent hand-overs, that call would
// add a statement to each.
//
// AwaitBy gives up on a server that does not answer for a TTL longer than each. A session in doubt is closed: the
// waiting session holds nothing else.
func (se *Session[K]) AwaitBy(ctx context.Context, h *Holding[K], each time.Duration,
	refusal func(context.Context, *Holding[K]) error, wait func(context.Context, *Holding[K]) (driver.Token, bool, error),
) (driver.Token, error) {
	held := error(&driver.Held{Reason: driver.Leased})
	for ask := false; ; ask = true {
		if ask {
			once, cancel := context.WithTimeout(ctx, silence(h.TTL))
			refused := refusal(once, h)
			cancel()
			switch {
			case se.Broken == nil:
				held = refused
			case ctx.Err() == nil:
				return 0, refused
			}
		}
		if ctx.Err() != nil {
			return 0, held
		}
		once, cancel := context.WithTimeout(ctx, each+silence(h.TTL))
		token, granted, err := wait(once, h)
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			se.Broken = err
			return 0, held
		case err != nil || granted:
			return token, err
		}
	}
}
