// Package redlock keeps locks in a majority of independent Redis or Valkey servers.
//
//	locker, err := rowlock.New(redlock.New([]*redis.Client{one, two, three}))
//
// These locks can be acquired while a minority of the servers is down. They are not safer than locks on one server.
// docs/redlock.md says when to use them. Protect rows of a SQL database with fence.Claim, where the database makes the
// tokens.
package redlock
