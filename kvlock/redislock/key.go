package redislock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// encode is the Redis key of a lock: prefix, colon, name; or, in a namespace, prefix, @, namespace, colon, name. Readable names stay as they
// are. A percent sign, braces (a hash tag in Cluster) and control characters become %XX, and so does a colon in the namespace. A prefix
// ends with the first colon that another colon or an @ follows, so no two locks share a key, whatever their prefixes are.
func (o options) encode(k driver.Key) string {
	var b strings.Builder
	b.Grow(len(o.prefix) + 1 + len(k.Namespace) + 1 + len(k.Name))
	b.WriteString(o.prefix)
	if k.Namespace != "" {
		b.WriteByte('@')
		escape(&b, k.Namespace, true)
	}
	b.WriteByte(':')
	escape(&b, k.Name, false)
	return b.String()
}

// separates says whether the keys of a prefix are those of no other.
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

var errForeignKey = errors.New("the key is not of a lock")

// decode is the reverse of encode, and refuses what encode does not write.
func (o options) decode(key string) (driver.Key, error) {
	rest, ours := strings.CutPrefix(key, o.prefix)
	namespace, name, two := strings.Cut(strings.TrimPrefix(rest, "@"), ":")
	if !ours || !two {
		return driver.Key{}, errForeignKey
	}
	k := driver.Key{Namespace: unescape(namespace), Name: unescape(name)}
	if o.encode(k) != key {
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

// pattern matches what begins with the prefix, in SCAN's language.
func (o options) pattern() string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(o.prefix) + "*"
}
