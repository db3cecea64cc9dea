package zklock

import "encoding/json"

// value is what a node says to people.
type value struct {
	Holder string `json:"holder,omitempty"`
	Note   string `json:"note,omitempty"`
}

func (v value) String() string {
	text, _ := json.Marshal(v) // two strings never fail
	return string(text)
}

// parseValue of something that this package did not write is empty.
func parseValue(text []byte) (v value) {
	_ = json.Unmarshal(text, &v)
	return v
}
