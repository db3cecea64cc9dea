package rowlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowlock/rowlock/driver"
)

// Option changes how a Locker, or one call of it, works. Options given to [New] are the defaults;
// the same options given to a call override them there. An option that cannot work makes New, or
// the call, fail with an error that names it.
type Option func(*settings)

// TTL is how soon a crash frees the name: the store grants for so long, and renewal keeps the lease
// alive from then on. It limits no work. The default is 30 s; the least is 50 ms.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// RenewEvery is the time between renewals. The default is a third of the TTL; at most half of it
// makes sense, so that one failed renewal loses nothing, and it must be less than the TTL less the [Margin].
func RenewEvery(d time.Duration) Option {
	return func(s *settings) { s.renewEvery, s.renewSet = d, true }
}

// Margin is by how much trust in a lease ends before the store can grant the name to another. It
// must cover the difference in speed between the store's clock and the holder's over one TTL. The
// default is a tenth of the TTL where the store expires by a wall clock, which a time daemon may
// slew, and a hundredth and 20 ms where it expires by a monotonic one.
func Margin(d time.Duration) Option { return func(s *settings) { s.margin, s.marginSet = d, true } }

// Wait is the longest that Acquire and Do wait for the name; after that they fail with [ErrHeld].
// The ctx of the call bounds the waiting as well. The default is to wait for as long as ctx
// permits; zero means not to wait.
func Wait(d time.Duration) Option { return func(s *settings) { s.wait, s.waitSet = d, true } }

// MinHold keeps the name closed until so long after the grant, even if it is released sooner,
// without holding up the process. It keeps a short job from running twice where clocks differ.
func MinHold(d time.Duration) Option { return func(s *settings) { s.minHold = d } }

// MaxHold ends the lease so long after the grant: it is renewed no more, and lost. The store is asked for no more than what is
// left of it, plus the [Margin], so the name is free soon after, also if the holder hangs.
func MaxHold(d time.Duration) Option { return func(s *settings) { s.maxHold = d } }

// HandoverDelay keeps the name closed for so long after a lease that expired without release, so
// that work which its holder could not stop in time has an end. (Chubby calls it lock-delay.)
func HandoverDelay(d time.Duration) Option { return func(s *settings) { s.handover = d } }

// Namespace keeps names apart: one name in two namespaces is two locks. The default is empty. At
// most 128 bytes of UTF-8 without NUL.
func Namespace(ns string) Option { return func(s *settings) { s.namespace = ns } }

// Holder says who holds the lock, for people who find it held. The default is the program's name,
// host and process id. At most 256 bytes of UTF-8 without NUL.
func Holder(who string) Option { return func(s *settings) { s.holder = who } }

// Note says what for, for people who find the lock held. At most 1,024 bytes of UTF-8 without NUL.
func Note(text string) Option { return func(s *settings) { s.note = text } }

// Logger logs the events of [Trace] to l. Without it nothing is ever logged.
func Logger(l *slog.Logger) Option {
	return func(s *settings) {
		s.log = nil
		if l != nil {
			s.log = LogTrace(l)
		}
	}
}

// Tracing calls the functions of each of traces as things happen. It and [Logger] do not replace one
// another.
func Tracing(traces ...*Trace) Option { return func(s *settings) { s.traces = traces } }

// Require makes New fail unless the backend's capabilities meet every requirement.
func Require(requirements ...Requirement) Option {
	return func(s *settings) { s.require = append(s.require, requirements...) }
}

// Requirement is something a caller demands of a backend: it returns an error that says what is
// missing. Programs may write their own.
type Requirement func(driver.Capabilities) error

// LinearizableToken demands tokens that rise strictly in the order of the grants.
func LinearizableToken(c driver.Capabilities) error {
	if c.Token < driver.LinearizableToken {
		return fmt.Errorf("its tokens are %s, not linearizable", c.Token)
	}
	return nil
}

// FairQueue demands grants in the order of the requests, across processes.
func FairQueue(c driver.Capabilities) error {
	if !c.Fair {
		return fmt.Errorf("it does not grant in the order of the requests")
	}
	return nil
}

// WakeUps demands that waiters in other processes are woken, not only poll.
func WakeUps(c driver.Capabilities) error {
	if !c.Wakes {
		return fmt.Errorf("it does not wake waiters in other processes")
	}
	return nil
}

// defaultHolder is the program's name, host and process id: what an operator needs to find the
// process that holds a lock.
func defaultHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	program := "unknown"
	if len(os.Args) > 0 && os.Args[0] != "" {
		program = filepath.Base(os.Args[0])
	}
	s := fmt.Sprintf("%s@%s:%d", program, host, os.Getpid())
	return strings.ToValidUTF8(s[:min(len(s), maxHolder)], "?")
}

// Limits and defaults of the options.
const (
	defaultTTL = 30 * time.Second
	minTTL     = 50 * time.Millisecond // below this, a scheduler's delay is longer than the margin
	maxTTL     = 7 * 24 * time.Hour    // a crash that frees a name after a week is a mistake in a unit
	maxHolder  = 256
	maxNote    = 1024
)

type settings struct {
	ttl, renewEvery, margin, wait, minHold, maxHold, handover time.Duration

	renewSet, marginSet, waitSet bool
	namespace, holder, note      string
	traces                       []*Trace
	log                          *Trace
	require                      []Requirement
	guard                        Sealer
	fenced                       bool
}

// termFor is how long the store is asked to hold a lease of which hold is left: the TTL, or so long that trust can last
// until hold is over.
func (s *settings) termFor(ttl, hold time.Duration) time.Duration {
	if hold >= ttl {
		return ttl
	}
	return min(ttl, max(hold+s.margin, minTTL))
}

// merge applies opts over s, fills in what depends on other options, and checks the whole.
func (s settings) merge(opts []Option, caps driver.Capabilities) (settings, error) {
	for _, opt := range opts {
		if opt != nil {
			opt(&s)
		}
	}
	if !s.renewSet {
		s.renewEvery = s.ttl / 3
	}
	if !s.marginSet {
		s.margin = s.ttl / 10
		if caps.MonotonicExpiry {
			s.margin = min(s.ttl/100+20*time.Millisecond, s.ttl/4)
		}
	}
	if err := s.check(); err != nil {
		return s, err
	}
	return s, s.suits(caps)
}

// suits refuses what the backend can never do: a TTL that it does not grant, and what would have to outlast the grant in a store whose
// grants end with a connection.
func (s *settings) suits(caps driver.Capabilities) error {
	if caps.MaxTTL > 0 && s.ttl > caps.MaxTTL {
		return fmt.Errorf("rowlock: TTL(%s): backend %s grants for no longer than its MaxTTL of %s: give a shorter TTL, or a longer MaxTTL in every program that shares the locks", s.ttl, caps.Backend, caps.MaxTTL)
	}
	for _, o := range []struct {
		name  string
		value time.Duration
	}{{"MinHold", s.minHold}, {"HandoverDelay", s.handover}} {
		if caps.Sessions && o.value > 0 {
			return fmt.Errorf("rowlock: %s(%s): backend %s keeps no name closed after its lock has ended: use sqllock for such locks", o.name, o.value, caps.Backend)
		}
	}
	return nil
}

func (s settings) check() error {
	wrong := func(option string, d time.Duration, why string) error {
		return fmt.Errorf("rowlock: %s(%s): %s", option, d, why)
	}
	switch {
	case s.fenced && s.guard == nil:
		return errNoGuard
	case s.ttl < minTTL || s.ttl > maxTTL:
		return wrong("TTL", s.ttl, fmt.Sprintf("must be from %s to %s", minTTL, maxTTL))
	case s.margin < 0 || s.margin > s.ttl/2:
		return wrong("Margin", s.margin, fmt.Sprintf("must be from 0 to half the TTL of %s", s.ttl))
	case s.renewEvery < time.Millisecond || s.renewEvery > s.ttl/2:
		return wrong("RenewEvery", s.renewEvery, fmt.Sprintf("must be from 1ms to half the TTL of %s", s.ttl))
	case s.renewEvery >= s.ttl-s.margin:
		return wrong("RenewEvery", s.renewEvery, fmt.Sprintf("must be less than the TTL of %s less the margin of %s, which is when trust ends", s.ttl, s.margin))
	case s.wait < 0:
		return wrong("Wait", s.wait, "must not be negative")
	case s.minHold < 0 || s.minHold > maxTTL:
		return wrong("MinHold", s.minHold, fmt.Sprintf("must be from 0 to %s", maxTTL))
	case s.maxHold < 0:
		return wrong("MaxHold", s.maxHold, "must not be negative")
	case s.handover < 0 || s.handover > maxTTL:
		return wrong("HandoverDelay", s.handover, fmt.Sprintf("must be from 0 to %s", maxTTL))
	}
	for _, text := range []struct {
		option, value string
		limit         int
	}{
		{"Namespace", s.namespace, driver.MaxNamespace},
		{"Holder", s.holder, maxHolder},
		{"Note", s.note, maxNote},
	} {
		if err := checkText(text.value, text.limit); err != nil {
			return fmt.Errorf("rowlock: %s(%s): %w", text.option, excerpt(text.value), err)
		}
	}
	return nil
}

// callTimeout bounds one request to the store: long enough for a connection to be made, short
// enough for several tries within a TTL of usual length.
func callTimeout(ttl time.Duration) time.Duration {
	return min(max(ttl/6, time.Second), 5*time.Second)
}

// outageLimit is how long a waiter goes on asking a store that says nothing: a TTL, but long enough
// for a second try and at most a minute.
func outageLimit(ttl time.Duration) time.Duration {
	return min(max(ttl, 2*callTimeout(ttl)), time.Minute)
}

var errNUL = errors.New("has a NUL character, which no SQL database can keep in a text")

// newKey checks a name and its namespace. Names are exact: case and trailing space matter.
func newKey(namespace, name string) (driver.Key, error) {
	if name == "" {
		return driver.Key{}, errors.New("rowlock: name is empty")
	}
	if err := checkText(name, driver.MaxName); err != nil {
		return driver.Key{}, fmt.Errorf("rowlock: name %s: %w", excerpt(name), err)
	}
	return driver.Key{Namespace: namespace, Name: name}, nil
}

// checkText holds the rules that every text kept in a store must meet.
func checkText(s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("has %d bytes, and %d are the most", len(s), limit)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return errNUL
	}
	return nil
}

// excerpt quotes s for an error message that stays short.
func excerpt(s string) string {
	const most = 40
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", s[:most])
}

// Sealer makes a resource refuse every holder that is older than a lease. The guards of package
// fence are Sealers.
type Sealer interface {
	// Seal raises the marks of the resources to the lease's token, before the holder's first read.
	// Without resources it is the lock's own name. When it returns nil, all that older holders did
	// is visible, and nothing more of theirs can follow. ctx bounds it.
	Seal(ctx context.Context, lease *Lease, resources ...string) error
}

// Fenced makes Acquire, TryAcquire, Do and TryDo seal with guard before they return or begin: from
// then on the resource refuses the writes of every older holder that checks. When sealing fails,
// the lease is released and the call fails with the reason.
//
// Sealing waits for the transactions that an older holder has checked and not yet ended.
//
// Where guard is one of package fence, and it and the backend were made with one database handle and
// one table, on Postgres or SQLite, the grant seals in its own step, with no further round trip. The
// wait is then part of waiting for the name. TryAcquire bears it for a few seconds at most, which
// end in an [ErrHeld] with the reason driver.Draining; Acquire asks again. (On SQLite a request waits a
// quarter of a second for any writer of the file, and the reason is driver.Contended.)
//
// Elsewhere a transaction of the guard's own seals after the grant, and waits for as long as ctx and
// the trust in the lease permit.
func Fenced(guard Sealer) Option {
	return func(s *settings) { s.guard, s.fenced = guard, true }
}

var errNoGuard = errors.New("rowlock: Fenced(nil): want a guard")

// grantSealer is a guard whose marks a backend can raise with the grant, if both are at one place.
type grantSealer interface {
	// SealPlace returns where the marks are, and the domain of the tokens that a store of the given
	// kind grants for a lock of that name. It is the zero Place unless asked is the guard itself.
	SealPlace(asked Sealer, store, name string) (place driver.Place, domain string)
}
