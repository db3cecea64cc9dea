package zklock

import (
	"encoding/json"

	"github.com/rowlock/rowlock/driver"
)

// value is what a node says to people.
type value struct {
	Holder string `json:"holder,omitempty"`
	Note   string `json:"note,omitempty"`

	Token driver.Token `json:"token,omitempty"` // of a pause, which was granted before its node was created
}

func (v value) String() string {
	text, _ := json.Marshal(v) // what never fails
	return string(text)
}

// parseValue of something that this package did not write is empty.
func parseValue(text []byte) (v value) {
	_ = json.Unmarshal(text, &v)
	return v
}
