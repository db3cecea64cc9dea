package sqllock

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

// asked is one grant of a batch as the renew statements read it. N is its position; durations are
// microseconds. The token is a string: JSON numbers lose digits beyond 2^53 in some servers.
type asked struct {
	N             int    `json:"n"`
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	Nonce         string `json:"nonce"`
	Token         string `json:"token"`
	TTL           int64  `json:"ttl"`
	MinHold       int64  `json:"min_hold"`
	HandoverDelay int64  `json:"handover_delay"`
}

// encodeGrants is the one parameter of renew.sql: a JSON array with an object a grant.
func encodeGrants(grants []driver.Grant) (string, error) {
	batch := make([]asked, len(grants))
	for i, g := range grants {
		batch[i] = asked{
			N: i, Namespace: g.Key.Namespace, Name: g.Key.Name, Nonce: g.Nonce.String(), Token: g.Token.String(),
			TTL: g.TTL.Microseconds(), MinHold: g.MinHold.Microseconds(), HandoverDelay: g.HandoverDelay.Microseconds(),
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(batch); err != nil {
		return "", fmt.Errorf("encode %d grants: %w", len(grants), err)
	}
	return b.String(), nil
}
