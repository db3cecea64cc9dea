package driver

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Key names one lock: a name within a namespace. Two keys are the same lock only if their namespaces and their names
// are equal byte for byte. A backend must not fold case or trim spaces. If it joins the namespace and the name into one
// text, different keys must give different texts.
//
// The engine validates each key before it calls a backend. The namespace and the name are valid UTF-8 without NUL.
// A name has 1 to [MaxName] bytes, and a namespace at most [MaxNamespace]. A backend calls [Key.Check] for a name that
// it gets without the engine.
type Key struct {
	Namespace string // empty by default
	Name      string
}

// Limits of a key, in bytes. A name can hold a URL or a path. A namespace and a name together fit into an index of
// every SQL database that we know of.
const (
	MaxName      = 512
	MaxNamespace = 128
)

// String returns the name for people to read. If the key has a namespace, the result is the namespace,
// a slash and the name. Two different keys can have the same string, so compare keys and not their strings.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Check returns an error if the engine would reject the key.
func (k Key) Check() error {
	switch {
	case k.Name == "" || len(k.Name) > MaxName:
		return fmt.Errorf("name of %d bytes: want 1 to %d", len(k.Name), MaxName)
	case len(k.Namespace) > MaxNamespace:
		return fmt.Errorf("namespace of %d bytes: want at most %d", len(k.Namespace), MaxNamespace)
	}
	for _, part := range []string{k.Namespace, k.Name} {
		if !utf8.ValidString(part) {
			return fmt.Errorf("%q is not valid UTF-8", part)
		}
		if strings.IndexByte(part, 0) >= 0 {
			return fmt.Errorf("%q has a NUL byte", part)
		}
	}
	return nil
}
