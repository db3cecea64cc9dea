package sessionlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// AwaitBy implements [Link].Await for a server on which a session can wait only for a limited time. It repeats that
// wait until the lock is granted or ctx ends. AwaitBy calls the function wait for each wait on the server. One wait
// takes at most the duration in the parameter each. The function wait returns the token, and reports whether the lock
// was granted.
//
// AwaitBy calls the function refusal after each wait that timed out. The function refusal returns an error that names
// the current holder. If it marks the session as broken, AwaitBy returns that error as the result. AwaitBy does not
// call refusal before the first wait. The caller has just received a refusal, and the call would add a statement to
// every hand-over.
//
// AwaitBy gives up if the server does not answer within one TTL after the start of a wait, or within a second after the
// wait should have ended if that is later. If it is then uncertain whether the session holds the lock, AwaitBy marks
// the session as broken, so that the session is closed. No other lock is lost, because a waiting session holds none.
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
		once, cancel := context.WithTimeout(ctx, max(h.TTL, each+time.Second))
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
