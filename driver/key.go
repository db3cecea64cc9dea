package driver

// Key names one lock: a name within a namespace. Two keys are the same lock only if both parts are equal byte
// for byte. A backend must not fold case, trim spaces or join the parts ambiguously.
//
// The engine validates each key before it calls a backend. Both parts are valid UTF-8 without NUL. A name has
// 1 to [MaxName] bytes, and a namespace at most [MaxNamespace].
type Key struct {
	Namespace string // empty by default
	Name      string
}

// Limits of a key, in bytes. A name can hold a URL or a path, and both parts together fit into an index of
// every SQL database that we know of.
const (
	MaxName      = 512
	MaxNamespace = 128
)

// String returns the name for people to read. If the key has a namespace, the namespace and a slash come before the name. Two
// keys can have the same string, so compare keys and not their strings.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}
