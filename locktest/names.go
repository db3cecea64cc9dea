package locktest

import (
	"errors"
	"strings"

	"github.com/rowlock/rowlock/driver"
)

var nameCases = []testCase{
	{
		name:    "names-are-exact",
		promise: "Two names that differ in any byte are two locks: in case, spaces, prefix, Unicode normal form, or the last of 512 bytes.",
		run:     func(t *trial) { apart(t, t.nearNames()) },
	},
	{
		name:    "namespaces-are-apart",
		promise: "The same name in two namespaces is two locks, also if namespace and name joined give the same text.",
		run:     func(t *trial) { apart(t, t.nearNamespaces()) },
	},
}

// nearNames returns names that a store may confuse because of a collation, a padding rule, a length limit or a pattern.
func (t *trial) nearNames() []driver.Key {
	u := t.unique
	long := u + strings.Repeat("n", driver.MaxName-len(u)-1)
	wide := u + strings.Repeat("世", (driver.MaxName-len(u)-1)/3) // each character has three bytes
	names := []string{
		u, u + "a", u + "A", u + "a ", u + "a  ", " " + u + "a", u + "a\t", u + "a\n",
		u + "é", u + "e\u0301", u + "e", u + "ß", u + "ss", u + "ı", u + "i", u + "I",
		u + "🔒", u + "🔓", u + "👩\u200d🔬", u + "👩🔬", u + "\u200b",
		u + "%", u + "_", u + "*", u + "\\", u + "\\\\", u + "'", u + "''", u + "\"", u + "$1",
		u + "/", u + "//", u + "..", u + "{}", u + "\x01", u + "\x7f", u + "\U0010ffff",
		long, long + "x", long + "y", long[:255], long[:256], long[:64], long[:63],
		wide, wide + "x",
	}
	keys := make([]driver.Key, len(names))
	for i, name := range names {
		keys[i].Name = name
	}
	return keys
}

// nearNamespaces returns different keys that become equal if a store joins the two parts carelessly.
func (t *trial) nearNamespaces() []driver.Key {
	u := t.unique
	keys := []driver.Key{
		{Name: u}, {Namespace: u, Name: u}, {Namespace: strings.ToUpper("n" + u), Name: u}, {Namespace: "n" + u, Name: u},
		{Namespace: "n" + u + " ", Name: u}, {Namespace: strings.Repeat("n", driver.MaxNamespace-len(u)) + u, Name: u},
	}
	for _, sep := range []string{"/", ":", ".", " ", "\x1f"} {
		keys = append(
			keys,
			driver.Key{Name: u + "a" + sep + "b" + sep + "c"},
			driver.Key{Namespace: u + "a", Name: "b" + sep + "c"},
			driver.Key{Namespace: u + "a" + sep + "b", Name: "c"},
			driver.Key{Namespace: u + "a" + sep + "b" + sep, Name: "c"},
			driver.Key{Namespace: u + "a" + sep, Name: "b" + sep + "c"},
		)
	}
	return append(keys, driver.Key{Namespace: u + "ab", Name: "c"}, driver.Key{Namespace: u + "a", Name: "bc"})
}

// apart acquires all keys, so that all are held at the same time, and checks that each key has its own grant.
func apart(t *trial, keys []driver.Key) {
	a, b := t.open(), t.open()
	grants := make([]driver.Grant, len(keys))
	for i, key := range keys {
		r := t.request(key)
		r.TTL = longest
		grants[i] = t.grant(a, r)
	}
	for i, got := range t.renewAll(a, grants...) {
		if got != driver.Renewed {
			t.fatalf("%q in %q was lost after similar names were granted: %s", keys[i].Name, keys[i].Namespace, got)
		}
	}
	for i, key := range keys {
		held := t.refuse(b, t.request(key))
		if held.Token != grants[i].Token && held.Token != 0 {
			t.fatalf("%q in %q is held with token %d; a refusal reports %d", key.Name, key.Namespace, grants[i].Token, held.Token)
		}
		if i%2 == 0 {
			t.release(a, grants[i])
		}
	}
	for i, g := range grants {
		switch err := b.Release(t.ctx, driver.Grant{Key: g.Key, Nonce: driver.NewNonce(), Token: g.Token + 1, TTL: g.TTL}); {
		case !errors.Is(err, driver.ErrNotHeld):
			t.fatalf("a release of %q by a client that does not hold it: %v", g.Key.Name, err)
		case i%2 == 1:
			t.refuse(b, t.request(g.Key))
		default:
			t.grant(b, t.request(g.Key))
		}
	}
}
