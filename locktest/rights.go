package locktest

import (
	"errors"
	"strings"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var rightCases = []testCase{
	{
		name:    "missing-right-is-named",
		promise: "A client whose account lacks a right gets an error that names it, at once, and not held.",
		needs:   []power{limited},
		run:     missingRightIsNamed,
	},
	{
		name:    "missing-right-leaves-nothing",
		promise: "A call that fails because of a missing right leaves nothing behind.",
		needs:   []power{limited},
		run:     missingRightLeavesNothing,
	},
}

// openLimited returns a client whose account lacks a right, and a text that its errors contain.
func (t *trial) openLimited() (b driver.Backend, missing string) {
	b, missing, err := t.harness.(Limited).OpenLimited(t.ctx)
	if err != nil {
		t.fatalf("open a client whose account lacks a right: %v", err)
	}
	if c, ok := t.harness.(Closer); ok {
		t.cleanup(func() { _ = c.Close(b) })
	}
	return b, missing
}

func missingRightIsNamed(t *trial) {
	b, missing := t.openLimited()
	l := t.locker(b)
	for verb, call := range map[string]func(name string) error{
		"TryAcquire": func(name string) error { _, err := l.TryAcquire(t.ctx, name); return err },
		"Acquire":    func(name string) error { _, err := l.Acquire(t.ctx, name); return err },
	} {
		var err error
		took := timed(func() { err = call(t.key(verb).Name) })
		switch {
		case !errors.Is(err, rowlock.ErrUnavailable) || errors.Is(err, rowlock.ErrHeld):
			t.fatalf("%s without a right: want rowlock.ErrUnavailable and not rowlock.ErrHeld, got %v", verb, err)
		case !strings.Contains(err.Error(), missing):
			t.fatalf("%s without a right: the error does not contain %q: %v", verb, missing, err)
		case took > slack:
			t.fatalf("%s without a right took %s: the account will not have the right on a retry", verb, took)
		}
	}
}

func missingRightLeavesNothing(t *trial) {
	b, _ := t.openLimited()
	key := t.key("x")
	if _, err := b.Acquire(t.ctx, t.request(key)); err == nil {
		t.fatalf("an account without a right was granted %q", key)
	}
	other := t.open()
	t.release(other, t.grant(other, t.request(key)))
}
