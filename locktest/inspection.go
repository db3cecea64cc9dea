package locktest

import (
	"context"
	"errors"
	"slices"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var inspectorCases = []testCase{
	{
		name:    "inspector-sees",
		promise: "An inspection shows whether a name is free, held or expired, its holder and its token.",
		run:     inspectorSees,
	},
	{
		name:    "inspector-lists",
		promise: "The list of a namespace has every granted name of this namespace, in order, and no name of another namespace.",
		run:     inspectorLists,
	},
	{
		name:    "inspector-counts-waiters",
		promise: "If the backend has a queue or notifies waiters, an inspection and a list show how many processes wait for a name. Otherwise they show none.",
		run:     inspectorCountsWaiters,
	},
	{
		name:    "force-needs-the-token",
		promise: "A forced release ends only the grant with the given token, and a live lease only if live is set.",
		run:     forceNeedsTheToken,
	},
}

func (t *trial) checkStatus(got driver.Status, state driver.State, token driver.Token) {
	if got.State != state || got.Token != token {
		t.fatalf("want %s with token %d; an inspection shows %s with token %d", state, token, got.State, got.Token)
	}
}

func inspectorSees(t *trial) {
	a, b := t.open(), t.open()
	inspector := t.needOperator(b)
	r := t.request(t.key("x"))
	t.checkStatus(t.inspect(inspector, r.Key), driver.StateFree, 0)

	g := t.grant(a, r)
	seen := t.inspect(inspector, r.Key)
	t.checkStatus(seen, driver.StateHeld, g.Token)
	if seen.Key != r.Key || seen.Holder != r.Holder || seen.Note != r.Note {
		t.fatalf("%q is held by %q for %q; an inspection shows %+v", r.Key, r.Holder, r.Note, seen)
	}
	if !sessions(b) && (seen.ExpiresIn <= 0 || seen.ExpiresIn > g.TTL || seen.FreeIn <= 0 || seen.FreeIn > g.TTL) {
		t.fatalf("held for %s; an inspection shows that it ends in %s and is free in %s", g.TTL, seen.ExpiresIn, seen.FreeIn)
	}
	t.release(a, g)
	seen = t.inspect(inspector, r.Key)
	if forgets(b) {
		t.checkStatus(seen, driver.StateFree, 0)
		return
	}
	t.checkStatus(seen, driver.StateFree, g.Token)
	if seen.FreeIn != 0 {
		t.fatalf("a free name is free in %s", seen.FreeIn)
	}
	g = t.expired(a, t.request(r.Key))
	seen = t.inspect(inspector, r.Key)
	if sessions(b) { // the store does not record how a grant of a session ended
		t.checkStatus(seen, driver.StateFree, g.Token)
		return
	}
	t.checkStatus(seen, driver.StateExpired, g.Token)
	if seen.ExpiresIn > 0 {
		t.fatalf("an expired lease ends in %s", seen.ExpiresIn)
	}
}

func inspectorLists(t *trial) {
	a, b := t.open(), t.open()
	inspector := t.needOperator(b)
	mine, other := "ns-"+t.unique, "ns-"+t.unique+"-other"
	want := []string{"B", "a", "a ", "b", "é", "世"} // the expected order is the order of the names' bytes
	hold := func(namespace, name string) {
		r := t.request(driver.Key{Namespace: namespace, Name: name})
		r.TTL = 3 * steady // listing all names of a store that other cases share may take long
		t.grant(a, r)
	}
	for _, name := range []string{"世", "b", "a ", "é", "B", "a"} {
		hold(mine, name)
	}
	hold(other, "a")
	if got := t.list(inspector, mine, false, mine); !slices.Equal(got, want) {
		t.fatalf("list of namespace %q: want the names %q, got %q", mine, want, got)
	}
	if got := t.list(inspector, "", true, mine); !slices.Equal(got, want) {
		t.fatalf("list of all namespaces: want the names %q in namespace %q, got %q", want, mine, got)
	}
	if got := t.list(inspector, "", true, other); !slices.Equal(got, []string{"a"}) {
		t.fatalf("list of all namespaces: want the name %q in namespace %q, got %q", "a", other, got)
	}
	if got := t.list(inspector, other, false, mine); len(got) != 0 {
		t.fatalf("namespace %q: the list has the names %q of another namespace", other, got)
	}
}

func inspectorCountsWaiters(t *trial) {
	a, b := t.open(), t.open()
	inspector := t.needOperator(a)
	namespace := "ns-" + t.unique
	name := t.key("x").Name
	key := driver.Key{Namespace: namespace, Name: name}
	counts := func(want int) func() bool {
		return func() bool {
			list, err := inspector.List(t.ctx, namespace, false)
			if err != nil {
				t.fatalf("list %q: %v", namespace, err)
			}
			shown := t.inspect(inspector, key).Waiters
			return shown == want && len(list) == 1 && list[0].Waiters == want
		}
	}
	holder := t.acquire(t.locker(a, rowlock.Namespace(namespace)), name)
	if !counts(0)() {
		t.fatalf("nobody waits for %q; an inspection and a list do not show 0 waiters", key)
	}
	waiters := t.locker(b, rowlock.Namespace(namespace))
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	w := t.wait(ctx, waiters, name)
	_, awaits := b.(driver.Awaiter)
	_, notifies := b.(driver.Notifier)
	if !awaits && !notifies {
		if !counts(0)() {
			t.fatalf("the store keeps no record of waiters; an inspection and a list of %q do not show 0 waiters", key)
		}
		return
	}
	t.poll("an inspection and a list show the process that waits", counts(1))
	cancel()
	t.await(w.done, "the wait ends with its context")
	t.poll("an inspection and a list show that nobody waits any longer", counts(0))
	w = t.wait(t.ctx, waiters, name)
	t.handOn(holder)
	t.has(w)
	t.poll("an inspection and a list show that the new holder no longer waits", counts(0))
}

// list calls the method List, and returns names in the order of the reply. It omits the names of every namespace except
// the selected one.
func (t *trial) list(i driver.Operator, namespace string, all bool, selected string) []string {
	statuses, err := i.List(t.ctx, namespace, all)
	if err != nil {
		t.fatalf("list %q: %v", namespace, err)
	}
	var names []string
	for _, s := range statuses {
		if s.Key.Namespace == selected {
			names = append(names, s.Key.Name)
		}
	}
	return names
}

func forceNeedsTheToken(t *trial) {
	a, b := t.open(), t.open()
	inspector := t.needOperator(b)
	key := t.key("x")
	if err := inspector.ForceRelease(t.ctx, key, 1, true); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("forced release of a name that was never granted: want driver.ErrNotHeld, got %v", err)
	}
	g := t.grant(a, t.request(key))
	if err := inspector.ForceRelease(t.ctx, key, g.Token+1, true); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("forced release with another token: want driver.ErrNotHeld, got %v", err)
	}
	var held *driver.Held
	if err := inspector.ForceRelease(t.ctx, key, g.Token, false); !errors.As(err, &held) {
		t.fatalf("forced release of a live lease with live = false: want *driver.Held, got %v", err)
	}
	t.refuse(b, t.request(key))
	t.isHeld(a, g)
	dead := t.expired(b, t.request(t.key("expired"))) // expiry may end the session of client b; client a must keep its session, because it holds g
	err := inspector.ForceRelease(t.ctx, dead.Key, dead.Token, false)
	if err != nil && !(sessions(b) && errors.Is(err, driver.ErrNotHeld)) { // if a session has ended, the store does not know its grants
		t.fatalf("forced release of an expired lease: %v", err)
	}
	t.release(a, g)
	if err := inspector.ForceRelease(t.ctx, key, g.Token, true); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("forced release of a free name: want driver.ErrNotHeld, got %v", err)
	}
}
