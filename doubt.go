package rowlock

import (
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// doubt counts those requests of an acquisition that have an unknown outcome. The store may have applied these
// requests, or may apply them later.
type doubt struct {
	requests int
	last     clock.Instant // just before the last of these requests was sent
}

func (d *doubt) add(requests int, last clock.Instant) {
	d.requests += requests
	d.last = last
}

// leftover describes the grant that the store may have made for the requests of d, which had g's nonce. Its token is
// zero, because the caller never received the token, and a zero token matches every token. Its field Done is empty, so the release
// records no tick: another holder may have recorded a later tick before this grant.
func (d doubt) leftover(cfg *settings, g driver.Grant) leftover {
	g.Token, g.Done = 0, ""
	return leftover{cfg: cfg, grant: g, since: d.last, certain: false, requests: d.requests}
}
