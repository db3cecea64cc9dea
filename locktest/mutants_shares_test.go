package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// register is a store with a defect in how it keeps shares. It wraps a memlock backend, and keeps a second record of the
// shares, which contains the defect.
type register struct {
	*memlock.Backend
	defect shareDefect

	mu     sync.Mutex
	shares map[driver.Key]map[driver.Nonce]*share
	last   map[driver.Key]driver.Token // the token that the last exclusive grant reported
	epoch  map[driver.Key]driver.Token // the token that the last share reported
	tokens map[driver.Nonce]driver.Token
}

type share struct {
	driver.Grant // the grant that memlock made, with memlock's token
	expires      time.Time
}

type shareDefect uint8

const (
	endsAll             shareDefect = iota // one release ends all shares
	countsTwice                            // a repeated request counts as a second share, which the release leaves behind
	expiresAll                             // the expiry of one share ends the others
	keepsExpired                           // an expired share keeps writers out
	tokenForEach                           // each reader has a token of its own
	tokenOfWriterBefore                    // readers get the token of the writer before them
	tokenForWriterAfter                    // a writer gets the token of the readers before it
	overwrites                             // the share of a reader replaces those of the others
	staysClosed                            // the name stays closed after the release of the last share
	renewsEnded                            // the renewal of a share that has ended is reported as successful
)

func shares(defect shareDefect) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		return &register{
			Backend: b, defect: defect, shares: make(map[driver.Key]map[driver.Nonce]*share), tokens: make(map[driver.Nonce]driver.Token),
			last: make(map[driver.Key]driver.Token), epoch: make(map[driver.Key]driver.Token),
		}
	}
}

// ghost returns a nonce derived from n, for a second share that only the defect creates.
func ghost(n driver.Nonce) driver.Nonce {
	n[0] ^= 1
	return n
}

func (m *register) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(ctx, r.Key)
	g, err := m.Backend.Acquire(ctx, r)
	if err != nil {
		return g, err
	}
	if r.Shared {
		m.record(ctx, r, g)
	}
	return m.shown(g), nil
}

func (m *register) record(ctx context.Context, r driver.Request, g driver.Grant) {
	if m.shares[r.Key] == nil {
		m.shares[r.Key] = make(map[driver.Nonce]*share)
	}
	_, again := m.shares[r.Key][r.Nonce]
	if m.defect == overwrites && !again {
		m.end(ctx, r.Key)
		m.shares[r.Key] = make(map[driver.Nonce]*share)
	}
	m.shares[r.Key][r.Nonce] = &share{g, time.Now().Add(r.TTL)}
	r.Nonce = ghost(r.Nonce)
	if again && m.defect == countsTwice {
		_, _ = m.Backend.Acquire(ctx, r)
	}
	if r.TTL = time.Hour; m.defect == keepsExpired || m.defect == staysClosed {
		_, _ = m.Backend.Acquire(ctx, r)
	}
}

// shown returns g with the wrong token that this store reports to its callers because of its defect.
func (m *register) shown(g driver.Grant) driver.Grant {
	if token, known := m.tokens[g.Nonce]; known {
		g.Token = token
		return g
	}
	real := g.Token
	switch {
	case g.Shared && m.defect == tokenForEach:
		g.Token += driver.Token(len(m.shares[g.Key]))
	case g.Shared && m.defect == tokenOfWriterBefore && m.last[g.Key] != 0:
		g.Token = m.last[g.Key]
	case !g.Shared && m.defect == tokenForWriterAfter && m.epoch[g.Key] != 0:
		g.Token = m.epoch[g.Key]
		m.epoch[g.Key] = 0
	}
	if g.Token != real {
		m.tokens[g.Nonce] = g.Token
	}
	if g.Shared {
		m.epoch[g.Key] = g.Token
	} else {
		m.last[g.Key] = g.Token
	}
	return g
}

// behind returns the grant to pass to memlock: g without a wrong token, which memlock does not know. The nonce alone
// then identifies the grant.
func (m *register) behind(g driver.Grant) driver.Grant {
	if token, known := m.tokens[g.Nonce]; known && token == g.Token {
		g.Token = 0
	}
	return g
}

// settle ends all shares of key if one of them has expired and the store has the defect expiresAll.
func (m *register) settle(ctx context.Context, key driver.Key) {
	if m.defect != expiresAll {
		return
	}
	for _, s := range m.shares[key] {
		if time.Now().After(s.expires) {
			m.end(ctx, key)
			return
		}
	}
}

// end releases all shares of key.
func (m *register) end(ctx context.Context, key driver.Key) {
	for _, s := range m.shares[key] {
		_ = m.Backend.Release(ctx, s.Grant)
	}
	delete(m.shares, key)
}

func (m *register) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range grants {
		m.settle(ctx, g.Key)
	}
	outcomes, err := m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { *g = m.behind(*g) }))
	for i, g := range grants {
		if s := m.shares[g.Key][g.Nonce]; err == nil && s != nil && outcomes[i] == driver.Renewed {
			s.expires = time.Now().Add(g.TTL)
		}
		if err == nil && g.Shared && m.defect == renewsEnded {
			outcomes[i] = driver.Renewed
		}
	}
	return outcomes, err
}

func (m *register) Release(ctx context.Context, g driver.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(ctx, g.Key)
	if g.Shared && m.defect == endsAll {
		m.end(ctx, g.Key)
	}
	err := m.Backend.Release(ctx, m.behind(g))
	if g.Shared && m.defect == keepsExpired { // a share that is released in time is not kept
		g.Nonce = ghost(g.Nonce)
		_ = m.Backend.Release(ctx, g)
	}
	delete(m.shares[g.Key], g.Nonce)
	return err
}
