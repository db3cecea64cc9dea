package etcdlock

import "encoding/json"

// value is the content of an entry, for people to read.
type value struct {
	Holder string `json:"holder,omitempty"`
	Note   string `json:"note,omitempty"`
}

func (v value) String() string {
	text, _ := json.Marshal(v) // encoding two strings cannot fail
	return string(text)
}

// parseValue decodes an entry's content. It returns an empty value for content that this package did not write.
func parseValue(text []byte) (v value) {
	_ = json.Unmarshal(text, &v)
	return v
}
