// Package memlock keeps locks in memory.
//
// It is the executable specification of a lease backend: it shows in a few lines, without a database, what
// every other backend must do. It is also the fake for tests of programs that use rowlock: two Lockers on one
// [Backend] behave like two processes on one store. A test can move its clock, take a lease away, and delay
// or lose requests and replies. It works in testing/synctest.
//
//	store := memlock.New()
//	locker, err := rowlock.New(store)
//	…
//
// the holder notices at its next renewal
package memlock
