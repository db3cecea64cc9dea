//go:build linux

package release_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkImage builds the container image without a container engine. It runs the RUN lines of the Dockerfile in a copy
// of the project, without the files that .dockerignore excludes. Then it runs the entry point in a root folder
// that contains only the files of the COPY lines.
func checkImage(t *testing.T, binary string) {
	stages := dockerfile(t)
	require.Len(t, stages, 2)
	build, final := stages[0], stages[1]
	assert.Equal(t, "golang:"+goVersion(t)+" AS build", strings.TrimPrefix(build[0][1], "--platform=$BUILDPLATFORM "))
	assert.Equal(t, "scratch", final[0][1])

	source, out, image := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, exec.CommandContext(t.Context(), "tar", "-C", root, "--exclude-from="+ignored(t), "-cf", filepath.Join(out, "context.tar"), "."))
	run(t, exec.CommandContext(t.Context(), "tar", "-C", source, "-xf", filepath.Join(out, "context.tar")))
	for _, instruction := range build {
		if instruction[0] != "RUN" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(instruction[1], "/out/", out+"/"))
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION="+version)
		run(t, cmd)
	}
	entry, user := "", []string(nil)
	for _, instruction := range final[1:] {
		switch instruction[0] {
		case "COPY":
			words := strings.Fields(instruction[1])
			require.Len(t, words, 3)
			require.Equal(t, "--from=build", words[0])
			from := strings.Replace(words[1], "/out/", out+"/", 1)
			if _, err := os.Stat(from); err != nil && from == words[1] {
				t.Logf("%s is in the image of Go and not on this machine", from)
				continue
			}
			to := filepath.Join(image, words[2])
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755)) //nolint:gosec // the user of the image reads it
			run(t, exec.CommandContext(t.Context(), "cp", from, to))
		case "USER":
			user = strings.Split(instruction[1], ":")
		case "ENTRYPOINT":
			var words []string
			require.NoError(t, json.Unmarshal([]byte(instruction[1]), &words))
			require.Len(t, words, 1)
			entry = words[0]
		default:
			t.Errorf("this test does not know what %s does", instruction[0])
		}
	}
	assertSame(t, binary, filepath.Join(image, entry))
	if os.Getuid() != 0 {
		t.Log("only root may change the root: the entry point was not started there")
		return
	}
	require.Len(t, user, 2)
	uid, err := strconv.ParseUint(user[0], 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(user[1], 10, 32)
	require.NoError(t, err)
	require.NotZero(t, uid)
	require.NoError(t, os.Chmod(image, 0o755)) //nolint:gosec // as a root is
	started := exec.CommandContext(t.Context(), entry, "version")
	started.Dir, started.Env = "/", []string{}
	started.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	assertVersion(t, started)
}

// dockerfile returns the stages of the Dockerfile. A stage is a list of instructions, each with its name
// and its arguments.
func dockerfile(t *testing.T) (stages [][][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	require.NoError(t, err)
	joined := strings.ReplaceAll(string(text), "\\\n", "")
	for line := range strings.Lines(joined) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
			continue
		case word == "FROM":
			stages = append(stages, nil)
		}
		require.NotEmpty(t, stages, "the first instruction is FROM")
		last := len(stages) - 1
		stages[last] = append(stages[last], [2]string{word, strings.Join(strings.Fields(rest), " ")})
	}
	return stages
}

// goVersion returns the Go version in go.mod, without the third number.
func goVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "go "); ok {
			return strings.Join(strings.Split(version, ".")[:2], ".")
		}
	}
	t.Fatal("go.mod has no version of Go")
	return ""
}

// ignored writes the names that .dockerignore excludes to a file, in the format that tar reads. It returns the path of
// that file. All names are in the root folder.
func ignored(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	require.NoError(t, err)
	var anchored strings.Builder
	for line := range strings.Lines(string(text)) {
		anchored.WriteString("./" + line)
	}
	path := filepath.Join(t.TempDir(), "ignored")
	require.NoError(t, os.WriteFile(path, []byte(anchored.String()), 0o600))
	return path
}
