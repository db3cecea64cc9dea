package stdio

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// operator is a client whose program has the operations of an operator.
type operator struct{ *client }

var _ driver.Operator = operator{}

var states = map[string]driver.State{
	"free": driver.StateFree, "held": driver.StateHeld, "expired": driver.StateExpired, "closed": driver.StateClosed, "paused": driver.StatePaused,
}

// List implements [driver.Operator].
func (o operator) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	return o.locks(ctx, request{Op: "list", grant: grant{Namespace: namespace}, All: all})
}

// Inspect implements [driver.Operator].
func (o operator) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	locks, err := o.locks(ctx, request{Op: "inspect", grant: grantOf(driver.Grant{Key: key})})
	if err == nil && len(locks) != 1 {
		err = fmt.Errorf("the program replied to inspect with %d locks", len(locks))
	}
	if err != nil {
		return driver.Status{}, err
	}
	return locks[0], nil
}

// ForceRelease implements [driver.Operator].
func (o operator) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	_, err := o.program.call(ctx, request{Op: "force", grant: grantOf(driver.Grant{Key: key, Token: token}), Live: live})
	return err
}

// Prune implements [driver.Operator].
func (o operator) Prune(ctx context.Context, unused time.Duration) (int, error) {
	r, err := o.program.call(ctx, request{Op: "prune", UnusedUS: unused.Microseconds()})
	if err != nil {
		return 0, err
	}
	return r.Deleted, nil
}

// Pause implements [driver.Operator].
func (o operator) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, err := o.program.call(ctx, request{Op: "pause", grant: grantOf(g), As: as.String()})
	return err
}

func (o operator) locks(ctx context.Context, r request) ([]driver.Status, error) {
	got, err := o.program.call(ctx, r)
	if err != nil {
		return nil, err
	}
	result := make([]driver.Status, len(got.Locks))
	for i, l := range got.Locks {
		state, known := states[l.State]
		token, err := parseToken(l.Token)
		if err == nil && !known {
			err = fmt.Errorf("the program replied to %s with the state %q", r.Op, l.State)
		}
		if err != nil {
			return nil, err
		}
		result[i] = driver.Status{
			Key: driver.Key{Namespace: l.Namespace, Name: l.Name}, State: state, Token: token, Holder: l.Holder, Note: l.Note,
			Age: micros(l.AgeUS), ExpiresIn: micros(l.ExpiresInUS), FreeIn: micros(l.FreeInUS), Done: l.Done, Readers: l.Readers, Waiters: l.Waiters,
		}
	}
	return result, nil
}
