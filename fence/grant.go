package fence

import (
	"cmp"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// SealPlace is called by package rowlock. It returns where the marks are stored, and the token domain of the lock. The
// parameter store is the kind of the lock's backend, and the parameter name is the lock's name. A backend that keeps
// its locks at the same place can raise the mark when it grants the lock. rowlock.Fenced then does not call
// [Guard.Seal]. The parameter asked is the Sealer that was passed to rowlock.Fenced. A Sealer that embeds g may seal in
// its own way, so SealPlace returns the zero Place unless asked is g itself.
func (g *Guard) SealPlace(asked rowlock.Sealer, store, name string) (place driver.Place, domain string) {
	if asked != rowlock.Sealer(g) {
		return driver.Place{}, ""
	}
	return g.place, domainOf(g.domain, store, name)
}

// domainOf returns the domain of a lock's tokens: the store's name, a space, and the lock's name. The parameter named
// is the store's name from the option TokenDomain. If it is empty, the kind of the store is used.
func domainOf(named, store, name string) string { return cmp.Or(named, store) + " " + name }
