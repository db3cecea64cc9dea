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

// claim is what one call has to prove: that a lease is the newest on some resources.
type claim struct {
	lease     *rowlock.Lease
	namespace string
	resources []string // sorted, each once: everybody locks in the same order
	token     int64
	nonce     string
	domain    string // of the token

	mint *minting // of a Claim: the resource's database makes the token
	lazy bool     // a check raises the mark itself
}

// newClaim takes the lock's own name if there are no resources, and the kind of its store if none
// was named.
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
	return claim{
		lease: lease, namespace: lease.Namespace(), resources: resources,
		token: int64(lease.Token()), nonce: lease.Nonce().String(), domain: domainOf(named, lease.Backend(), lease.Name()),
	}, nil
}

// checkResource holds resources to the rules of the names of locks.
func checkResource(r string) error {
	switch {
	case r == "":
		return errors.New(`fence: resource "" is empty`)
	case len(r) > driver.MaxName:
		return fmt.Errorf("fence: resource %.40q… has %d bytes, and %d are the most", r, len(r), driver.MaxName)
	case !utf8.ValidString(r):
		return fmt.Errorf("fence: resource %q is not valid UTF-8", r)
	case strings.ContainsRune(r, 0):
		return fmt.Errorf("fence: resource %q has a NUL character, which no SQL database can keep in a text", r)
	}
	return nil
}

// mark is what the fence table has of one resource.
type mark struct {
	token  int64
	nonce  string
	domain string
}

// isOf says whether the claim's lease has sealed last. The nonce alone says so, and the token that a
// mark has of it may have been minted by the resource's own database.
func (m mark) isOf(c claim) bool { return m.nonce == c.nonce }

// mayRaise is nil if the mark of resource is older than the claim and can be compared with it.
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

// refuse is the error of a resource that another lease has sealed last, or none.
func (c claim) refuse(resource string, m mark) error {
	return &StaleError{Namespace: c.namespace, Resource: resource, Token: rowlock.Token(c.token), Newest: rowlock.Token(m.token)}
}

// within bounds a call by what is left of the lease's trust at its start, and by its end.
func (c claim) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(ctx, c.lease.ExpiresAt())
	stop := context.AfterFunc(c.lease.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// trust is how long the lease is trusted unless it is renewed.
func (c claim) trust() time.Duration {
	return max(time.Until(c.lease.ExpiresAt()), time.Millisecond)
}

// left is how long a call that was bounded by within may still take.
func left(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline), time.Millisecond)
}

// subject is the resources, and the lock if that is another name.
func (c claim) subject() string {
	if name := c.lease.Name(); len(c.resources) != 1 || c.resources[0] != name {
		return fmt.Sprintf("%q for the lock %q", c.resources, name)
	}
	return fmt.Sprintf("%q", c.resources[0])
}

// wrap says what was being done, and keeps the end of the caller's ctx or of the lease as a cause.
// Where neither has ended, it was the bound of within that did, and it is to be run again: nobody is
// to take that for the end of his own ctx.
func (c claim) wrap(ctx context.Context, operation string, err error) error {
	if err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrOtherDomain) {
		return err
	}
	lost, ended := c.lease.Err(), ctx.Err()
	told := errors.Is(err, rowlock.ErrUnknown) || errors.Is(err, rowlock.ErrUnavailable)
	if lost == nil && ended == nil && !told && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		err = fmt.Errorf("%w: no answer for as long as the lease was trusted when it was asked: %v", ErrRetry, err) //nolint:errorlint // see above
	}
	err = fmt.Errorf("fence: %s %s: %w", operation, c.subject(), err)
	for _, cause := range []error{lost, ended} {
		if cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	return err
}
