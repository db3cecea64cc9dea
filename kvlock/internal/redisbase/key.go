package redisbase

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rowlock/rowlock/driver"
)

// Prefix is the text with which all keys of a set of locks begin.
type Prefix string

// Encode returns the Redis key of a lock: prefix, colon, name; or, in a namespace, prefix, @, namespace, colon, name.
// Readable names stay as they are. A percent sign, control characters and braces (which mark a hash tag in a Cluster)
// become %XX. A colon in the namespace also becomes %XX. In a key, the prefix ends with the first colon that is
// followed by another colon or an @. So two locks never have the same key, whatever their prefixes are.
func (p Prefix) Encode(k driver.Key) string {
	var b strings.Builder
	b.Grow(len(p) + 1 + len(k.Namespace) + 1 + len(k.Name))
	b.WriteString(string(p))
	if k.Namespace != "" {
		b.WriteByte('@')
		escape(&b, k.Namespace, true)
	}
	b.WriteByte(':')
	escape(&b, k.Name, false)
	return b.String()
}

// separates reports whether prefix ends with a colon and contains neither "::" nor ":@". Then the prefix can be found
// in a key: see Encode.
func separates(prefix string) bool {
	return strings.HasSuffix(prefix, ":") && !strings.Contains(prefix, "::") && !strings.Contains(prefix, ":@")
}

func escape(b *strings.Builder, s string, colon bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '%' || c == '{' || c == '}' || c < 0x20 || c == 0x7f || c == ':' && colon:
			fmt.Fprintf(b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
}

var errForeignKey = errors.New("the key does not belong to a lock")

// Decode reverses Encode, and rejects keys that Encode does not produce.
func (p Prefix) Decode(key string) (driver.Key, error) {
	rest, ours := strings.CutPrefix(key, string(p))
	namespace, name, two := strings.Cut(strings.TrimPrefix(rest, "@"), ":")
	if !ours || !two {
		return driver.Key{}, errForeignKey
	}
	k := driver.Key{Namespace: unescape(namespace), Name: unescape(name)}
	if p.Encode(k) != key {
		return driver.Key{}, errForeignKey
	}
	return k, nil
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		var c byte
		if s[i] == '%' && i+2 < len(s) {
			if n, _ := fmt.Sscanf(s[i+1:i+3], "%02X", &c); n == 1 {
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Pattern returns a SCAN pattern for all keys with the prefix.
func (p Prefix) Pattern() string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(string(p)) + "*"
}

// Record returns the key of the server's record, a hash. Its field top is the largest token of the locks that the
// server has deleted. The first token of a new name is larger than top. No lock has this key, because the key of each
// lock contains "::" or ":@".
func (p Prefix) Record() string { return string(p) + "node" }

// Waiters returns the text with which the names of waiters' channels begin. The id of a waiting process follows it. No
// lock has such a key, because the key of each lock contains "::" or ":@".
func (p Prefix) Waiters() string { return string(p) + "%waiter:" }

const maxPrefix = 128

// Validate returns an error if p is not a valid prefix. The error begins with pkg, the name of the package that uses p.
func (p Prefix) Validate(pkg string) error {
	switch s := string(p); {
	case s == "" || len(s) > maxPrefix || !utf8.ValidString(s) || strings.ContainsFunc(s, isControl):
		return fmt.Errorf("%s: Prefix %q: want 1 to %d bytes of UTF-8 without control characters", pkg, s, maxPrefix)
	case !separates(s):
		return fmt.Errorf("%s: Prefix %q: want it to end with a colon, without \"::\" or \":@\"", pkg, s)
	case !tagged(s):
		return fmt.Errorf("%s: Prefix %q: want a hash tag such as \"{locks}:\", or no braces", pkg, s)
	}
	return nil
}

// tagged reports whether prefix has a hash tag, or no opening brace. The function Recorded appends a hash tag to a
// record's key. If the prefix had an opening brace without a hash tag, Redis would take other text as the hash tag.
func tagged(prefix string) bool {
	_, tag, brace := strings.Cut(prefix, "{")
	return !brace || strings.IndexByte(tag, '}') > 0
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
