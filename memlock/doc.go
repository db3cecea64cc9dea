// Package memlock keeps locks in memory.
//
// It is the executable specification of a lease backend: what every other one must do, in a few
// lines without a database in between. It is also the fake for tests of programs that use rowlock:
// two Lockers on one [Backend] are two processes on one store. Its clock can be moved, a lease can
// be taken away, and requests and replies can be delayed and lost. It works in testing/synctest.
//
//	store := memlock.New()
//	locker, err := rowlock.New(store)
//	…
//	store.Lose("nightly") // the next renewal finds it gone
package memlock
