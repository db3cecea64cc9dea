// Package memlock keeps locks in memory.
//
// The package is the specification of a lease backend in the form of a program. It shows in a few lines, without a
// database, what every other backend must do. The package is also a fake store for tests of programs that use rowlock.
// Two Lockers on one [Backend] behave like two processes on one store. A test can set the store's clock, end a lease,
// and delay or lose requests and replies. The package works in testing/synctest.
//
//	store := memlock.New()
//	locker, err := rowlock.New(store)
//	…
//	store.Lose("nightly") // the holder notices at its next renewal
package memlock
