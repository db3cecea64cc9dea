package sqlbase

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// asked is one grant of a batch as the renew statements read it. N is its position; durations are
// microseconds. The token is a string: JSON numbers lose digits beyond 2^53 in some servers.
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

// EncodeGrants is the one parameter of renew.sql: a JSON array with an object a grant.
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

// Encode is v in JSON, with each text as it is.
func Encode(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode a batch: %w", err)
	}
	return b.String(), nil
}

// Text is a JSON string without escapes beyond ASCII. Package json escapes U+2028 and U+2029, and PostgreSQL refuses the
// whole batch for that in a database that is not UTF-8.
type Text string

// MarshalJSON is for package json.
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
