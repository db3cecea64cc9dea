package fence

import (
	"cmp"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// SealPlace is for package rowlock. It returns where the marks are, and the domain of the tokens that a store
// of the given kind grants for a lock of that name. A backend that keeps its locks at the same place
// can raise the mark of the lock's own name as it grants, and then rowlock.Fenced calls no [Guard.Seal].
// Where another Sealer than g is asked, one that embeds g and seals in its own way, it is the zero Place.
func (g *Guard) SealPlace(asked rowlock.Sealer, store, name string) (place driver.Place, domain string) {
	if asked != rowlock.Sealer(g) {
		return driver.Place{}, ""
	}
	return g.place, domainOf(g.domain, store, name)
}

// domainOf is the domain of a lock's tokens: the store that the guard's option names, or else its
// kind, and the lock.
func domainOf(named, store, name string) string { return cmp.Or(named, store) + " " + name }
