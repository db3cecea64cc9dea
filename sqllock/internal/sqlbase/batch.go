package sqlbase

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// asked is one grant of a batch, as renew.sql reads it. N is the index of the grant. Durations are in microseconds.
// The token is a string because some servers lose digits of JSON numbers beyond 2^53.
type asked struct {
	N             int    `json:"n"`
	Namespace     Text   `json:"namespace"`
	Name          Text   `json:"name"`
	Nonce         string `json:"nonce"`
	Token         string `json:"token"`
	TTL           int64  `json:"ttl"`
	MinHold       int64  `json:"min_hold"`
	HandoverDelay int64  `json:"handover_delay"`
}

// EncodeGrants returns the parameter of renew.sql: a JSON array with one object for each grant.
func EncodeGrants(grants []driver.Grant) (string, error) {
	batch := make([]asked, len(grants))
	for i, g := range grants {
		batch[i] = asked{
			N: i, Namespace: Text(g.Key.Namespace), Name: Text(g.Key.Name), Nonce: g.Nonce.String(), Token: g.Token.String(),
			TTL: g.TTL.Microseconds(), MinHold: g.MinHold.Microseconds(), HandoverDelay: g.HandoverDelay.Microseconds(),
		}
	}
	return Encode(batch)
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
func (t Text) MarshalJSON() ([]byte, error) {
	quoted := []byte{'"'}
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
	return append(quoted, '"'), nil
}
