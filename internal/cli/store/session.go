package store

import (
	"errors"
	"time"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/mysqlock"
)

// The schemes of the stores of session locks. A session lock exists in a server's memory, as long as its connection.
// The rest of the address has the same form as for lease rows on the same server. Session locks also need the
// migrations, which create the sequence or table of their tokens.
const (
	advisoryScheme = "postgres-advisory"
	getLockScheme  = "mysql-getlock"
)

// sessionLocation parses the address of a store of session locks. The parameter plain is the scheme of lease rows on
// the same server, or empty for an address without a scheme. The function parse parses an address of lease rows.
func sessionLocation(scheme, plain, rest string, parse func(string) (Location, error)) (Location, error) {
	prefix := ""
	if plain != "" {
		prefix = plain + ":"
	}
	at, err := parse(prefix + rest)
	if err != nil {
		return Location{}, err
	}
	at.Session = scheme
	at.Shown = scheme + ":" + at.Shown[len(prefix):]
	return at, nil
}

// CheckTimes returns a usage error if the TTL is longer than the store grants. It also returns a usage error for a
// minimum hold or a hand-over delay, if the store cannot keep a lock closed after its release.
func (at Location) CheckTimes(ttl, minHold, handover time.Duration) error {
	option, forgetful := "", at.KeyValue != nil && at.KeyValue.forgets
	switch {
	case at.Session == "" && !forgetful:
	case minHold > 0:
		option = "--min-hold"
	case handover > 0:
		option = "--handover-delay"
	}
	if at.KeyValue != nil && at.KeyValue.longestTTL() > 0 && ttl > at.KeyValue.longestTTL() {
		return exit.Usagef("--ttl=%s: %s:// grants leases of at most %s: write max_ttl=… in --store, with the same value in all programs that share the locks", terminal.Span(ttl), at.KeyValue.Scheme, terminal.Span(at.KeyValue.longestTTL()))
	}
	switch {
	case option == "":
		return nil
	case forgetful:
		return exit.Usagef("%s: %s:// keeps nothing about a free lock, so it cannot delay the next grant: omit the option, or keep the lock in Redis or as a lease row (--store postgres://…)",
			option, at.KeyValue.Scheme)
	}
	return exit.Usagef("%s: a lock of %s is free as soon as it is released or its connection ends: omit the option, or keep the lock as a lease row (--store %s)",
		option, at.Session, at.LeaseRows())
}

// LeaseRows returns the form of the address with which the same kind of server stores locks as lease rows.
func (at Location) LeaseRows() string {
	if at.Session == getLockScheme {
		return "mysql://…"
	}
	return "postgres://…"
}

// missingToken returns the name of the sequence or table of tokens if err says that it is missing, and an empty text
// otherwise.
func missingToken(err error) string {
	var sequence *advisory.SchemaError
	if errors.As(err, &sequence) {
		return "the sequence " + sequence.Sequence
	}
	var counter *mysqlock.SchemaError
	if errors.As(err, &counter) {
		return "the table " + counter.Table
	}
	return ""
}
