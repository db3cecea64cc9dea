package sessionlock

import "github.com/rowlock/rowlock/driver"

// Remembered is how many releases a store remembers.
const Remembered = 256

// memory is of the grants that were released last, so that releasing again is no error. It is
// bounded: who releases again does so within moments.
type memory struct {
	list [Remembered]ending
	next int
}

type ending struct {
	nonce driver.Nonce
	token driver.Token
	err   error // nil: the server said so
}

func (m *memory) add(g driver.Grant, err error) {
	m.list[m.next] = ending{g.Nonce, g.Token, err}
	m.next = (m.next + 1) % len(m.list)
}

// of says what became of a grant that is not held any more.
func (m *memory) of(g driver.Grant) error {
	for _, e := range m.list {
		if e.nonce == g.Nonce && e.token == g.Token && e.nonce != (driver.Nonce{}) {
			return e.err
		}
	}
	return driver.ErrNotHeld
}
