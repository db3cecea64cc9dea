package sqlbase

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// grantBytes is about the size of one grant in the result of EncodeGrants.
const grantBytes = 256

// EncodeGrants returns the parameter of renew.sql: a JSON array with one object for each grant. The field n is the index
// of the grant. Durations are in microseconds. The token is a string because some servers lose digits of JSON numbers
// beyond 2^53. The function does not use package json, which takes more than twice as long: a process may renew thousands
// of leases.
func EncodeGrants(grants []driver.Grant) string {
	batch := append(make([]byte, 0, 2+grantBytes*len(grants)), '[')
	for i, g := range grants {
		if i > 0 {
			batch = append(batch, ',')
		}
		batch = strconv.AppendInt(append(batch, `{"n":`...), int64(i), 10)
		batch = Text(g.Key.Namespace).append(append(batch, `,"namespace":`...))
		batch = Text(g.Key.Name).append(append(batch, `,"name":`...))
		batch = append(append(batch, `,"nonce":"`...), g.Nonce.String()...)
		batch = strconv.AppendInt(append(batch, `","token":"`...), int64(g.Token), 10)
		batch = strconv.AppendInt(append(batch, `","ttl":`...), g.TTL.Microseconds(), 10)
		batch = strconv.AppendInt(append(batch, `,"min_hold":`...), g.MinHold.Microseconds(), 10)
		batch = strconv.AppendInt(append(batch, `,"handover_delay":`...), g.HandoverDelay.Microseconds(), 10)
		batch = append(batch, '}')
	}
	return string(append(batch, ']'))
}

// Encode returns v in JSON. It does not escape characters for HTML.
func Encode(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode a batch: %w", err)
	}
	return b.String(), nil
}

// Text is a string whose JSON encoding has no escapes for characters beyond ASCII. Package json escapes U+2028 and
// U+2029. If the database's encoding is not UTF-8, PostgreSQL rejects the whole batch because of such an escape.
type Text string

// MarshalJSON implements [json.Marshaler].
func (t Text) MarshalJSON() ([]byte, error) { return t.append(nil), nil }

// append appends the JSON encoding of t.
func (t Text) append(quoted []byte) []byte {
	quoted = append(quoted, '"')
	for _, b := range []byte(t) {
		switch {
		case b == '"' || b == '\\':
			quoted = append(quoted, '\\', b)
		case b < ' ':
			quoted = fmt.Appendf(quoted, `\u%04x`, b)
		default:
			quoted = append(quoted, b)
		}
	}
	return append(quoted, '"')
}
