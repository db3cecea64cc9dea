package sessionlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// AwaitBy is the [Queuer]'s Await for a server that lets a session wait for a while: it waits again and again. refusal
// says who has the lock that h waits for, or why the session is broken; it is asked after each wait, and not before the first one:
// whoever waits was refused, and where the name goes from hand to hand that would be a statement for each. wait is one of the server's waits, each of which
// lasts for so long: it returns the token and that the lock was granted, or that it was not yet. A server that is silent for
// a TTL behind that is given up. A session that is in doubt holds nothing, or soon: it is closed.
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
		token, had, err := wait(once, h)
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			se.Broken = err
			return 0, held
		case err != nil || had:
			return token, err
		}
	}
}
