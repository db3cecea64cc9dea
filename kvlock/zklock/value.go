package zklock

import (
	"encoding/json"

	"github.com/rowlock/rowlock/driver"
)

// value is the content of a node, for people to read.
type value struct {
	Holder string `json:"holder,omitempty"`
	Note   string `json:"note,omitempty"`

	Token driver.Token `json:"token,omitempty"` // set only for a pause, because its token is older than its node
}

func (v value) String() string {
	text, _ := json.Marshal(v) // encoding cannot fail
	return string(text)
}

// parseValue decodes a node's content. It returns an empty value for content that this package did not write.
func parseValue(text []byte) (v value) {
	_ = json.Unmarshal(text, &v)
	return v
}
