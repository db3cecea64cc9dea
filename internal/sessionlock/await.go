package sessionlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// AwaitBy implements [Queuer].Await for a server on which a session can wait only for a limited time.
// It repeats that wait until the lock is granted or ctx ends. The function wait waits once on the server,
// for at most the duration each. It returns the token and whether the lock was granted.
//
// AwaitBy calls the function refusal after each wait that timed out. The function refusal returns an error with the
// current holder, or the reason why the session is broken. AwaitBy does not call refusal before the first wait, because
// the caller has just received a refusal, and the call would add a statement to every hand-over.
//
// AwaitBy gives up if the server does not answer within the duration each plus one TTL.
// If it is uncertain what the session holds, the session is closed, because it holds no other locks.
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
