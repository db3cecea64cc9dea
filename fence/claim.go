package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// claim says what one call has to prove: that its lease is the newest lease of the resources.
type claim struct {
	lease     *rowlock.Lease
	namespace string
	resources []string // without duplicates, and sorted, so that every transaction locks them in the same order
	token     int64
	nonce     string
	domain    string // domain of the lease's token

	mint *minting // set by Claim: the database of the resource generates the token
	lazy bool     // a check raises the mark itself
}

// newClaim makes the claim of a lease. Without resources, the resource is the name of the lock. The parameter named is
// the store's name from the option TokenDomain. Without that option, the kind of the store is used.
func newClaim(named string, lease *rowlock.Lease, resources []string) (claim, error) {
	if len(resources) == 0 {
		resources = []string{lease.Name()}
	}
	resources = slices.Clone(resources)
	slices.Sort(resources)
	resources = slices.Compact(resources)
	for _, r := range resources {
		if err := checkResource(r); err != nil {
			return claim{}, err
		}
	}
	nonce := lease.Nonce()
	if lease.Shared() {
		if lease.Token() == 0 {
			return claim{}, fmt.Errorf("fence: the lease on %q is shared and has no token, because %s keeps none for readers", lease.Name(), lease.Backend())
		}
		nonce = driver.EpochNonce(lease.Token())
	}
	return claim{
		lease: lease, namespace: lease.Namespace(), resources: resources,
		token: int64(lease.Token()), nonce: nonce.String(), domain: domainOf(named, lease.Backend(), lease.Name()),
	}, nil
}

// checkResource returns an error if r is not valid as the name of a lock.
func checkResource(r string) error {
	switch {
	case r == "":
		return errors.New(`fence: resource "" is empty`)
	case len(r) > driver.MaxName:
		return fmt.Errorf("fence: resource %.40q… has %d bytes: the limit is %d", r, len(r), driver.MaxName)
	case !utf8.ValidString(r):
		return fmt.Errorf("fence: resource %q is not valid UTF-8", r)
	case strings.ContainsRune(r, 0):
		return fmt.Errorf("fence: resource %q has a NUL character, which no SQL database can store in a text", r)
	}
	return nil
}

// mark is the fence table's row of one resource.
type mark struct {
	token  int64
	nonce  string
	domain string
}

// isOf reports whether the claim's lease was the last to seal. isOf compares only the nonce, because the database of
// the resource may have generated the token in the mark.
func (m mark) isOf(c claim) bool { return m.nonce == c.nonce }

// mayRaise returns nil if the mark of the resource is older than the claim and the two are comparable.
func (c claim) mayRaise(resource string, m mark) error {
	switch {
	case m.domain != "" && m.domain != c.domain:
		return &OtherDomainError{Namespace: c.namespace, Resource: resource, Domain: c.domain, Sealed: m.domain, Newest: rowlock.Token(m.token)}
	case c.mint == nil && m.token >= c.token:
		return c.refuse(resource, m)
	default:
		return nil
	}
}

// refuse returns the error for a resource that another lease has sealed last, or that no lease has sealed.
func (c claim) refuse(resource string, m mark) error {
	return &StaleError{Namespace: c.namespace, Resource: resource, Token: rowlock.Token(c.token), Newest: rowlock.Token(m.token)}
}

// within returns a context that ends when the lease ends. It also ends at the deadline that the lease has now, even if
// the lease is renewed later.
func (c claim) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(ctx, c.lease.ExpiresAt())
	stop := context.AfterFunc(c.lease.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// trust returns how long the lease stays trusted if it is not renewed.
func (c claim) trust() time.Duration {
	return max(time.Until(c.lease.ExpiresAt()), time.Millisecond)
}

// left returns the time until the deadline of ctx.
func left(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline), time.Millisecond)
}

// subject names the resources for an error text. It also names the lock, unless the only resource has the lock's name.
func (c claim) subject() string {
	if name := c.lease.Name(); len(c.resources) != 1 || c.resources[0] != name {
		return fmt.Sprintf("%q for the lock %q", c.resources, name)
	}
	return fmt.Sprintf("%q", c.resources[0])
}

// wrap adds the operation to err. If the caller's ctx or the lease has ended, it also adds the error of each that has
// ended. If neither has ended, but err is a context's error, then the call has reached the deadline that the method
// within sets. In that case wrap returns an [ErrRetry] that does not wrap the context's error. Otherwise the caller
// would conclude that its own ctx has ended.
func (c claim) wrap(ctx context.Context, operation string, err error) error {
	if err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrOtherDomain) {
		return err
	}
	lost, ended := c.lease.Err(), ctx.Err()
	told := errors.Is(err, rowlock.ErrUnknown) || errors.Is(err, rowlock.ErrUnavailable)
	if lost == nil && ended == nil && !told && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		err = fmt.Errorf("%w: the database did not answer while the lease was trusted: %v", ErrRetry, err) //nolint:errorlint // see above
	}
	err = fmt.Errorf("fence: %s %s: %w", operation, c.subject(), err)
	for _, cause := range []error{lost, ended} {
		if cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	return err
}
