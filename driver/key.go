package driver

// Key names one lock: a name within a namespace. Two keys are one lock only when both parts are
// equal byte for byte; no backend folds case, trims space or joins the parts ambiguously.
//
// The engine hands a backend validated keys only: valid UTF-8 without NUL, a name of 1 to
// [MaxName] bytes, a namespace of at most [MaxNamespace].
type Key struct {
	Namespace string // empty by default
	Name      string
}

// Limits of a key, in bytes. The name is long enough for a URL or a path, and both together fit
// into an index of every SQL database that we know of.
const (
	MaxName      = 512
	MaxNamespace = 128
)

// String is for people: the name, behind its namespace and a slash if it has one. It is not
// unique; compare keys, not their strings.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}
