package fence

import (
	"cmp"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// SealPlace is called by package rowlock. It returns where the marks are stored. It also returns the domain of the
// tokens that such a store grants for a lock with this name. The parameter store is the kind of the lock's backend. A
// backend that keeps its locks at the same place can raise the mark when it grants the lock. rowlock.Fenced then does
// not call [Guard.Seal]. The parameter asked is the Sealer of the option. If asked is not g itself, but a Sealer that
// embeds g, it may seal in its own way, so SealPlace returns the zero Place.
func (g *Guard) SealPlace(asked rowlock.Sealer, store, name string) (place driver.Place, domain string) {
	if asked != rowlock.Sealer(g) {
		return driver.Place{}, ""
	}
	return g.place, domainOf(g.domain, store, name)
}

// domainOf returns the domain of a lock's tokens: the store's name, a space, and the lock's name.
// The store's name is named if the option TokenDomain sets it, and otherwise the kind of the store.
func domainOf(named, store, name string) string { return cmp.Or(named, store) + " " + name }
