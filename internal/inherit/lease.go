package inherit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowlock/rowlock/driver"
)

// Variable is the environment variable that contains the text of a [Lease].
const Variable = "ROWLOCK_LEASE"

// version is the version of the text and of the protocol.
const version = 1

// Lease describes a lease to a child.
type Lease struct {
	Key    driver.Key
	Token  driver.Token // zero if the store grants no tokens
	Nonce  driver.Nonce
	Shared bool
	Holder string
	Domain string        // the kind of the store, which is the first word in the token domain of a fence mark
	TTL    time.Duration // how long the child may trust an answer of the parent, unless the answer says less
	Keeper string        // the path of the parent's socket
}

// text is a [Lease] in JSON. The token is a text, because many languages read a number as a float, which is not exact
// for large tokens.
type text struct {
	Version   int    `json:"version"`
	Domain    string `json:"domain"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Token     string `json:"token"`
	Nonce     string `json:"nonce"`
	Shared    bool   `json:"shared,omitempty"`
	Holder    string `json:"holder"`
	TTL       int64  `json:"ttl_us"`
	Keeper    string `json:"keeper"`
}

// String returns the value of the variable: one line of JSON.
func (l Lease) String() string {
	line, _ := json.Marshal(text{ // a struct of texts and numbers has no error
		version, l.Domain, l.Key.Namespace, l.Key.Name, l.Token.String(), l.Nonce.String(), l.Shared, l.Holder, l.TTL.Microseconds(), l.Keeper,
	})
	return string(line)
}

// Parse parses the result of [Lease.String]. Its error names the field that is wrong. Parse ignores unknown fields.
func Parse(s string) (Lease, error) {
	var t text
	if err := json.Unmarshal([]byte(s), &t); err != nil {
		return Lease{}, inField(err)
	}
	wrong := func(field string, err error) (Lease, error) { return Lease{}, fmt.Errorf("%s: %w", field, err) }
	if t.Version != version {
		return wrong("version", fmt.Errorf("%d: this program understands version %d", t.Version, version))
	}
	if t.Domain == "" || strings.ContainsAny(t.Domain, " \x00") {
		return wrong("domain", fmt.Errorf("%.40q: want the kind of a store", t.Domain))
	}
	if err := checkName(t.Namespace, driver.MaxNamespace); err != nil {
		return wrong("namespace", err)
	}
	if t.Name == "" {
		return wrong("name", errors.New("is empty"))
	}
	if err := checkName(t.Name, driver.MaxName); err != nil {
		return wrong("name", err)
	}
	token, err := strconv.ParseInt(t.Token, 10, 64)
	if err != nil || token < 0 {
		return wrong("token", fmt.Errorf("%.40q: want a number in a text", t.Token))
	}
	nonce, err := driver.ParseNonce(t.Nonce)
	if err != nil {
		return wrong("nonce", fmt.Errorf("%.40q: want a nonce of the form 8-4-4-4-12", t.Nonce))
	}
	ttl := time.Duration(t.TTL) * time.Microsecond
	if t.TTL <= 0 || ttl/time.Microsecond != time.Duration(t.TTL) {
		return wrong("ttl_us", fmt.Errorf("%d: want a number of microseconds", t.TTL))
	}
	if t.Keeper == "" {
		return wrong("keeper", errors.New("is empty: want the path of a socket"))
	}
	return Lease{
		Key: driver.Key{Namespace: t.Namespace, Name: t.Name}, Token: driver.Token(token), Nonce: nonce, Shared: t.Shared,
		Holder: t.Holder, Domain: t.Domain, TTL: ttl, Keeper: t.Keeper,
	}, nil
}

// inField returns an error that names the field with the wrong type, or says that the text is not JSON.
func inField(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return fmt.Errorf("%s: is a JSON %s", kind.Field, kind.Value)
	}
	return errors.New("is not a JSON object")
}

func checkName(s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("want at most %d bytes of UTF-8 without NUL", most)
	}
	return nil
}
