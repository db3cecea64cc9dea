package fence

import (
	"cmp"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// SealPlace is called by package rowlock. It returns where the marks are, and the domain of the tokens that a store of
// the given kind grants for a lock of that name. A backend that keeps its locks at the same place can raise the mark in
// the grant of the lock. rowlock.Fenced then does not call [Guard.Seal]. If asked is not g itself, but a Sealer that
// embeds g and seals in its own way, the Place is zero.
func (g *Guard) SealPlace(asked rowlock.Sealer, store, name string) (place driver.Place, domain string) {
	if asked != rowlock.Sealer(g) {
		return driver.Place{}, ""
	}
	return g.place, domainOf(g.domain, store, name)
}

// domainOf returns the domain of a lock's tokens: the store from the guard's option, or else its kind, and the lock.
func domainOf(named, store, name string) string { return cmp.Or(named, store) + " " + name }
