package stdio

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// request is one line for the program. Durations are in microseconds, and tokens are decimal texts, because JSON
// numbers lose digits in some languages.
type request struct {
	ID      int64  `json:"id"`
	Op      string `json:"op"`
	LimitUS int64  `json:"limit_us"` // the program should reply within this time

	grant         // of all operations but capabilities, renew, list, prune, trust and unlock
	Holder string `json:"holder"`
	Note   string `json:"note"`

	Waiting  bool    `json:"waiting"`
	Waits    bool    `json:"waits"`
	Grants   []grant `json:"grants,omitempty"` // of the operation renew
	Live     bool    `json:"live"`             // of the operation force
	All      bool    `json:"all"`              // of the operation list
	UnusedUS int64   `json:"unused_us"`        // of the operation prune
	As       string  `json:"as"`               // of the operation pause: the nonce of the pause
	WaitUS   int64   `json:"wait_us"`          // of the operation lock
	Lease    string  `json:"lease"`            // of the operations trust and unlock
}

// grant is a grant, or a lock without nonce and token.
type grant struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Nonce      string `json:"nonce"`
	Token      string `json:"token"`
	TTLUS      int64  `json:"ttl_us"`
	MinHoldUS  int64  `json:"min_hold_us"`
	HandoverUS int64  `json:"handover_delay_us"`
	Shared     bool   `json:"shared"`
	Done       string `json:"done"` // of the operation release: the tick to record
}

func grantOf(g driver.Grant) grant {
	return grant{
		Namespace: g.Key.Namespace, Name: g.Key.Name, Nonce: g.Nonce.String(), Token: g.Token.String(),
		TTLUS: g.TTL.Microseconds(), MinHoldUS: g.MinHold.Microseconds(), HandoverUS: g.HandoverDelay.Microseconds(),
		Shared: g.Shared, Done: g.Done,
	}
}

// lock is the state of one lock, in the reply to the operations list and inspect.
type lock struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	State       string `json:"state"`
	Token       string `json:"token"`
	Holder      string `json:"holder"`
	Note        string `json:"note"`
	AgeUS       int64  `json:"age_us"`
	ExpiresInUS int64  `json:"expires_in_us"`
	FreeInUS    int64  `json:"free_in_us"`
	Done        string `json:"done"`
	Readers     int    `json:"readers"`
	Waiters     int    `json:"waiters"`
}

// reply is one line from the program.
type reply struct {
	ID      *int64 `json:"id"`
	Error   string `json:"error"` // one of the words in the function failure, or empty
	Message string `json:"message"`

	Token    string   `json:"token"`
	Outcomes []string `json:"outcomes"` // of the operation renew
	Reason   string   `json:"reason"`   // this and the next fields belong to the error held
	Holder   string   `json:"holder"`
	Note     string   `json:"note"`
	SinceUS  int64    `json:"since_us"`
	FreeInUS int64    `json:"free_in_us"`
	Readers  int      `json:"readers"`
	Done     string   `json:"done"`     // of the operation acquire: the recorded tick
	Locks    []lock   `json:"locks"`    // of the operations list and inspect
	Deleted  int      `json:"deleted"`  // of the operation prune
	Lease    string   `json:"lease"`    // of the operation lock
	TrustUS  int64    `json:"trust_us"` // of the operation trust

	Backend   string `json:"backend"` // this and the next fields belong to the operation capabilities
	Tokens    string `json:"tokens"`
	Sessions  bool   `json:"sessions"`
	Anonymous bool   `json:"anonymous"`
	Forgets   bool   `json:"forgets"`
	MaxTTLUS  int64  `json:"max_ttl_us"`
	Shares    bool   `json:"shares"`
	Ticks     bool   `json:"ticks"`
	Operator  bool   `json:"operator"`
	Pauses    bool   `json:"pauses"`
	Leases    bool   `json:"leases"`
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// errLost is the error of a program that reports the loss of its own lease.
var errLost = errors.New("lost")

var reasons = map[string]driver.Reason{
	"leased": driver.Leased, "min hold": driver.MinHold, "handover": driver.Handover, "quarantine": driver.Quarantine,
	"contended": driver.Contended, "draining": driver.Draining, "reserved": driver.Reserved, "paused": driver.Paused,
}

var outcomes = map[string]driver.Outcome{"renewed": driver.Renewed, "lost": driver.Lost, "unknown": driver.Unknown}

// failure returns the error that the reply reports, or nil.
func (r *reply) failure() error {
	switch r.Error {
	case "":
		return nil
	case "held":
		reason, known := reasons[r.Reason]
		token, err := r.token()
		if !known || err != nil {
			return fmt.Errorf("the program reports a lock that is held for the reason %q, with the token %q", r.Reason, r.Token)
		}
		held := &driver.Held{
			Reason: reason, Holder: r.Holder, Note: r.Note, Token: token,
			Since: micros(r.SinceUS), ExpiresIn: micros(r.FreeInUS), Readers: r.Readers,
		}
		return held.KnowPause()
	case "not held":
		return driver.ErrNotHeld
	case "lost":
		return fmt.Errorf("%w: %s", errLost, r.Message)
	case "not applied":
		return driver.NotApplied(errors.New(r.Message))
	case "permanent":
		return driver.Permanent(errors.New(r.Message))
	case "unknown":
		return fmt.Errorf("unknown outcome: %s", r.Message)
	default:
		return fmt.Errorf("the program reports an error %q that the protocol does not have: %s", r.Error, r.Message)
	}
}

// token returns the token of the reply, or 0 if it has none.
func (r *reply) token() (driver.Token, error) { return parseToken(r.Token) }

func parseToken(text string) (driver.Token, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the program replied with the token %q, which is no decimal number", text)
	}
	return driver.Token(n), nil
}
