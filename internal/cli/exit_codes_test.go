package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// The help lists the exit codes in one topic. The help of each subcommand refers to that topic. docs/command.md
// contains the same table.
func TestExitCodesStandOnce(t *testing.T) {
	t.Parallel()
	code, topic, stderr := call(t, nil, "help", "exit-codes")
	require.Zero(t, code, stderr)
	page, err := os.ReadFile("../../docs/command.md")
	require.NoError(t, err)
	var ofPage strings.Builder
	for _, c := range exit.Codes {
		assert.Regexp(t, `(?m)^  `+strings.ReplaceAll(c.Code, "+", `\+`)+` +`, topic)
		assert.Contains(t, topic, c.Meaning)
		ofPage.WriteString("| " + c.Code + " | " + c.Meaning + " |\n")
	}
	assert.Contains(t, string(page), "| code | meaning |\n| --- | --- |\n"+ofPage.String()+"\n")

	for path, cmd := range commands(t) {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		code, help, stderr := call(t, nil, append(strings.Fields(path), "--help")...)
		require.Zero(t, code, "%s: %s", path, stderr)
		assert.NotContains(t, help, exit.Table(), path)
		assert.True(t, strings.HasSuffix(help, "\n"+seeExitCodes+"\n"), "%s: %s", path, help)
	}
}
