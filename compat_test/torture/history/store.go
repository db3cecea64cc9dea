package history

// Change is one change of a lease's row. A trigger of the store recorded the change in the same transaction. The instants are
// microseconds of the store's wall clock. A zero token or an empty nonce means that there is none.
type Change struct {
	Seq    int64  `json:"seq"` // the number of the change: it increases with each change of the same name
	Name   string `json:"n"`
	Gone   bool   `json:"gone,omitempty"` // the row was deleted by pruning; only the old values are set
	Holder string `json:"h,omitempty"`

	OldToken   int64  `json:"ot,omitempty"`
	OldNonce   string `json:"ox,omitempty"`
	OldExpires int64  `json:"oe,omitempty"`
	Token      int64  `json:"t,omitempty"`
	Nonce      string `json:"x,omitempty"`
	Expires    int64  `json:"e,omitempty"`
	At         int64  `json:"at"`
}

// Step is the kind of a change.
type Step string

const (
	Grant Step = "grant"
	Renew Step = "renew"
	Free  Step = "free"  // the lease was released, by its holder or by force
	Prune Step = "prune" // the row was pruned
	Other Step = "other"
)

// Step returns whether the change is a grant, a renewal, a release or a pruned row.
func (c Change) Step() Step {
	switch {
	case c.Gone:
		return Prune
	case c.Nonce != "" && (c.Nonce != c.OldNonce || c.Token != c.OldToken):
		return Grant
	case c.Nonce != "":
		return Renew
	case c.Nonce == "" && c.OldNonce != "":
		return Free
	}
	return Other
}

// Link is one write that the database accepted. The links of a resource are in the order of the chain.
type Link struct {
	Seq      int64  `json:"seq"`
	Resource string `json:"r"`
	Token    int64  `json:"t"`
	Nonce    string `json:"x"`
	Worker   int    `json:"w"`
	Read     int64  `json:"rv"`
	Value    int64  `json:"v"`
}
