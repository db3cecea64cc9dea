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

// Option configures a Locker or one call. Options given to [New] are defaults, and the same options given to a call
// override them. If an option is invalid, New or the call returns an error that names the option.
type Option func(*settings)

// TTL sets how long the store keeps the lease without a renewal, and so how soon a crash frees the name. It
// does not limit how long you may hold the name. The default is 30 s. d must be from 50 ms to 7 days.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// RenewEvery sets the time between renewals. The default is a third of the TTL. d must be at most half of the TTL, so
// that one failed renewal does not lose the lease. d must also be less than the TTL minus the [Margin].
func RenewEvery(d time.Duration) Option {
	return func(s *settings) { s.renewEvery, s.renewSet = d, true }
}

// Margin sets the time between the end of the trust in a lease and the expiry of the lease in the store. The margin
// must cover how much faster the store's clock may run than the holder's clock during one TTL. If the store uses a wall
// clock, which a time daemon may slew, the default is a tenth of the TTL. If the store uses a monotonic clock, the
// default is a hundredth of the TTL plus 20 ms, but at most a quarter of the TTL.
func Margin(d time.Duration) Option { return func(s *settings) { s.margin, s.marginSet = d, true } }

// Wait limits how long Acquire and Do wait for the name. After that time the call fails with [ErrHeld]. The ctx of the
// call limits the wait as well. By default only ctx limits it. Zero means not to wait.
func Wait(d time.Duration) Option { return func(s *settings) { s.wait, s.waitSet = d, true } }

// MinHold keeps the name unavailable until d after the grant, even if the holder releases it earlier.
// The release does not block. MinHold is for short jobs that several hosts start at the same time of day. Without it, a
// host whose clock is slow could run the job again after the first host has finished.
func MinHold(d time.Duration) Option { return func(s *settings) { s.minHold = d } }

// MaxHold ends the lease d after the grant: the Locker stops renewing it, and it is lost. The store keeps the lease
// at most until d plus the [Margin] after the grant. So the name is free soon afterwards, even if the holder hangs.
func MaxHold(d time.Duration) Option { return func(s *settings) { s.maxHold = d } }

// HandoverDelay keeps the name unavailable for d after a lease that expired without a release. The delay gives the
// holder's last requests time to end. Chubby calls it lock-delay.
func HandoverDelay(d time.Duration) Option { return func(s *settings) { s.handover = d } }

// Namespace separates names: the same name in two namespaces is two locks. The default is empty. ns must be at most 128
// bytes of UTF-8 without NUL.
func Namespace(ns string) Option { return func(s *settings) { s.namespace = ns } }

// Holder describes the holder, for people who find the lock held. The default is the program's name, host and process
// id. who must be at most 256 bytes of UTF-8 without NUL.
func Holder(who string) Option { return func(s *settings) { s.holder = who } }

// Note describes the purpose, for people who find the lock held. text must be at most 1,024 bytes of UTF-8 without NUL.
func Note(text string) Option { return func(s *settings) { s.note = text } }

// Shared acquires the name as a reader. Several readers may hold a name at the same time. A call without this option is
// a writer: it holds the name alone. A writer that waits is not overtaken by readers that come later.
//
// All readers whose leases overlap have the same token. It is larger than the token of every writer before, and smaller
// than the token of every writer after. So package fence works for readers, too: when the first reader seals, the data
// rejects the previous writer, and when the next writer seals, the data rejects all readers. The token is zero if the
// store keeps none for readers, as with advisory locks. Then package fence rejects the lease.
//
// A reader cannot become a writer without a release: two such readers would wait for each other. A call that tries it
// with the ctx of its shared lease fails with [ErrNested]. Shared cannot be combined with [MinHold],
// [HandoverDelay], [Once] or [Lead]. If the backend grants no shared locks ([driver.Capabilities].Shares), the call
// fails with an [errors.ErrUnsupported].
func Shared() Option { return func(s *settings) { s.shared = true } }

// Reenter makes Do and TryDo run their function under the lease that ctx carries, if this lease has the same name and
// is still held. Then Do and TryDo acquire and release nothing. Without the option such a nested call fails with
// [ErrNested]. Acquire and TryAcquire ignore the option, because each returns a lease of its own. There is no counter
// of nested calls: the outermost Do releases the lease. A call without [Shared] never runs under a shared lease, and
// fails with [ErrNested] even with the option.
func Reenter() Option { return func(s *settings) { s.reenter = true } }

// Logger logs the events of [Trace] to l. Without this option the library logs nothing.
func Logger(l *slog.Logger) Option {
	return func(s *settings) {
		s.log = nil
		if l != nil {
			s.log = LogTrace(l)
		}
	}
}

// Tracing calls the functions of each trace when their events happen. Tracing and [Logger] can be used
// together.
func Tracing(traces ...*Trace) Option { return func(s *settings) { s.traces = traces } }

// Require makes New fail unless the backend's capabilities meet every requirement.
func Require(requirements ...Requirement) Option {
	return func(s *settings) { s.require = append(s.require, requirements...) }
}

// Requirement checks the capabilities of a backend, and returns an error that says what is missing.
// Programs may define their own requirements.
type Requirement func(driver.Capabilities) error

// LinearizableToken requires tokens that rise strictly in the order of the grants.
func LinearizableToken(c driver.Capabilities) error {
	if c.Token < driver.LinearizableToken {
		return fmt.Errorf("its tokens are %s, not linearizable", c.Token)
	}
	return nil
}

// FairQueue requires grants in the order of the requests, across processes.
func FairQueue(c driver.Capabilities) error {
	if !c.Fair {
		return fmt.Errorf("it does not grant in the order of the requests")
	}
	return nil
}

// Notifications requires that the store notifies waiters in other processes, so that they do not only poll.
func Notifications(c driver.Capabilities) error {
	if !c.Wakes {
		return fmt.Errorf("it does not notify waiters in other processes")
	}
	return nil
}

// defaultHolder returns the program's name, host and process id, with which an operator can find the holder's
// process.
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
	minTTL     = 50 * time.Millisecond // with a shorter TTL, the scheduling delay of the system would exceed the margin
	maxTTL     = 7 * 24 * time.Hour    // a longer TTL is probably a mistake in the unit
	maxHolder  = 256
	maxNote    = 1024
)

type settings struct {
	ttl, renewEvery, margin, wait, minHold, maxHold, handover time.Duration

	renewSet, marginSet, waitSet bool
	namespace, holder, note      string
	tick                         string // the tick of Once
	leads                        bool   // true if the call is Lead
	traces                       []*Trace
	log                          *Trace
	require                      []Requirement
	guard                        Sealer
	reenter                      bool
	shared                       bool
	fenced                       bool
}

// termFor returns the TTL to request for a lease that may be held for the duration hold from now on.
// If hold is shorter than ttl, the result is hold plus the margin, so that the lease is trusted until hold is over.
func (s *settings) termFor(ttl, hold time.Duration) time.Duration {
	if hold >= ttl {
		return ttl
	}
	return min(ttl, max(hold+s.margin, minTTL))
}

// merge applies opts over s, sets defaults that depend on other options, and checks the result.
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

// suits returns an error if the backend cannot support an option, or does not meet a [Require]. A backend may limit the
// TTL. A backend whose grants end with a session supports neither MinHold nor HandoverDelay.
func (s *settings) suits(caps driver.Capabilities) error {
	if caps.MaxTTL > 0 && s.ttl > caps.MaxTTL {
		return fmt.Errorf("rowlock: TTL(%s): backend %s grants for no longer than its MaxTTL of %s: set a shorter TTL, or a longer MaxTTL in every program that shares the locks", s.ttl, caps.Backend, caps.MaxTTL)
	}
	if s.shared && s.tick != "" {
		return errors.New("rowlock: Once: not possible with a shared lock")
	}
	if s.shared && s.leads {
		return errors.New("rowlock: Lead: not possible with a shared lock")
	}
	if s.shared && !caps.Shares {
		return fmt.Errorf("rowlock: Shared: backend %s grants no shared locks: %w", caps.Backend, errors.ErrUnsupported)
	}
	for _, o := range []struct {
		name  string
		value time.Duration
	}{{"MinHold", s.minHold}, {"HandoverDelay", s.handover}} {
		if s.shared && o.value > 0 {
			return fmt.Errorf("rowlock: %s(%s): not possible with a shared lock", o.name, o.value)
		}
		if caps.Sessions && o.value > 0 {
			return fmt.Errorf("rowlock: %s(%s): backend %s cannot keep a name unavailable after its lock has ended: use sqllock for such locks", o.name, o.value, caps.Backend)
		}
	}
	for _, unmet := range s.require {
		if err := unmet(caps); err != nil {
			return fmt.Errorf("rowlock: backend %s: %w", caps.Backend, err)
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
		return wrong("RenewEvery", s.renewEvery, fmt.Sprintf("must be less than the TTL of %s minus the margin of %s, because the lease is trusted only until then", s.ttl, s.margin))
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

// callTimeout returns the time limit of one request. The limit leaves time to open a connection,
// and permits several attempts within a usual TTL.
func callTimeout(ttl time.Duration) time.Duration {
	return min(max(ttl/6, time.Second), 5*time.Second)
}

// outageLimit returns how long a waiter retries while the store does not reply: one TTL, but at least the time limits
// of two requests, and at most a minute.
func outageLimit(ttl time.Duration) time.Duration {
	return min(max(ttl, 2*callTimeout(ttl)), time.Minute)
}

var errNUL = errors.New("has a NUL character, which no SQL database can store in a text")

// newKey checks name and returns its key, which keeps case and trailing spaces.
func newKey(namespace, name string) (driver.Key, error) {
	if name == "" {
		return driver.Key{}, errors.New("rowlock: name is empty")
	}
	if err := checkText(name, driver.MaxName); err != nil {
		return driver.Key{}, fmt.Errorf("rowlock: name %s: %w", excerpt(name), err)
	}
	return driver.Key{Namespace: namespace, Name: name}, nil
}

// checkText returns an error if s has more than limit bytes, is not valid UTF-8, or has a NUL character.
func checkText(s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("has %d bytes; the limit is %d", len(s), limit)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return errNUL
	}
	return nil
}

// excerpt quotes the beginning of s for an error message.
func excerpt(s string) string {
	const most = 40
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", s[:most])
}

// Sealer makes a resource reject every holder that is older than a lease. The guards of package fence are
// Sealers.
type Sealer interface {
	// Seal raises the marks of the resources to the lease's token, before the holder's first read. The mark of a
	// resource contains the newest token, and rejects older ones. If no resources are given, Seal raises the mark of
	// the lock's own name. After it has returned nil, all writes of older holders are visible, and no further write of
	// theirs can succeed. ctx limits the call.
	Seal(ctx context.Context, lease *Lease, resources ...string) error
}

// Fenced makes Acquire, TryAcquire, Do and TryDo seal with guard before they return the lease or call the function:
// guard stores the lease's token next to the data. From then on the data rejects the checked writes of every older
// holder. If sealing fails, the lease is released, and the call returns the reason. Sealing waits for the open
// transactions in which an older holder has checked its lease.
//
// On PostgreSQL and SQLite, the statement that grants the lock also seals, if guard comes from package fence and uses
// the backend's database handle and table. In that case no further round trip is needed, and the wait for transactions
// is part of the wait for the name. TryAcquire waits for a few seconds at most, and then returns an [ErrHeld] with the
// reason driver.Draining. Acquire retries. On SQLite a request waits for another writer of the file for 250 ms. After
// that time it is refused with the reason driver.Contended.
//
// In all other cases the guard seals after the grant, in a transaction of its own. The guard waits for open
// transactions until ctx ends, or until the lease is no longer trusted.
func Fenced(guard Sealer) Option {
	return func(s *settings) { s.guard, s.fenced = guard, true }
}

var errNoGuard = errors.New("rowlock: Fenced(nil): want a guard")
