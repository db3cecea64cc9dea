package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A build by "make release" reports the version of the release. Any other build reports the version that the Go
// toolchain has recorded.
func TestVersion(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"},
	}}
	assert.Contains(t, version(info, true), "rowlock v1.2.3 (go")
	assert.Contains(t, version(info, true), ", commit 0123456789ab with changes)")
	assert.Contains(t, version(nil, false), "rowlock (unknown) (go")
	released = "v2.0.0"
	defer func() { released = "" }()
	assert.Contains(t, version(info, true), "rowlock v2.0.0 (go")
}
