package sessionlock

import "github.com/rowlock/rowlock/driver"

// Remembered is how many releases a store remembers.
const Remembered = 256

// memory holds the most recent releases, so that a repeated release is not an error. A fixed size is enough, because a
// caller that repeats a release does so soon after the first one.
type memory struct {
	list [Remembered]ending
	next int
}

type ending struct {
	nonce driver.Nonce
	token driver.Token
	err   error // nil: the server confirmed the release
}

func (m *memory) add(g driver.Grant, err error) {
	m.list[m.next] = ending{g.Nonce, g.Token, err}
	m.next = (m.next + 1) % len(m.list)
}

// The method "of" returns the result of the release of g. It returns ErrNotHeld if the memory does not contain that
// release.
func (m *memory) of(g driver.Grant) error {
	for _, e := range m.list {
		if e.nonce == g.Nonce && e.token == g.Token && e.nonce != (driver.Nonce{}) {
			return e.err
		}
	}
	return driver.ErrNotHeld
}
