// Package deploy has the files with which systemd and Kubernetes run a command under a lock. Its tests read these
// files, and run the commands in them.
package deploy_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command builds the command rowlock once, and returns its path.
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		return "", err
	}
	built := filepath.Join(dir, "rowlock")
	build := exec.Command("go", "build", "-o", built, "./cmd/rowlock")
	build.Dir, build.Stderr = "../..", os.Stderr
	return built, build.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built, err := command(); err == nil {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

// run runs a command line from one of the files, with a test job on a new store, and returns the exit code.
func run(t *testing.T, dir string, line []string, job ...string) int {
	t.Helper()
	built, err := command()
	require.NoError(t, err)
	require.Equal(t, "/usr/local/bin/rowlock", line[0])
	end := slices.Index(line, "--")
	require.Positive(t, end)
	cmd := exec.Command(built, append(slices.Clone(line[1:end+1]), job...)...)
	cmd.Env = append(os.Environ(), "ROWLOCK_STORE=sqlite:"+filepath.Join(dir, "locks.db"), "ROWLOCK_HOLDER=test")
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err, "%s", output)
	return 0
}

// unit returns the settings of a unit file. A setting has several values if the file sets it several times.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	settings := map[string][]string{}
	for s := bufio.NewScanner(file); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		settings[key] = append(settings[key], value)
	}
	return settings
}

func codes(t *testing.T, text string) (all []int) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		n, err := strconv.Atoi(word)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}

// The command of the unit works, and ends with the exit code of the job. If the lock is held, or was just released,
// systemd counts the run as a success. An error that a retry cannot fix is not retried.
func TestTheServiceRuns(t *testing.T) {
	service := unit(t, "nightly.service")
	line := strings.Fields(service["ExecStart"][0])
	fine, never := codes(t, service["SuccessExitStatus"][0]), codes(t, service["RestartPreventExitStatus"][0])
	assert.Zero(t, run(t, t.TempDir(), line, "true"))
	dir := t.TempDir()
	assert.Equal(t, 7, run(t, dir, line, "sh", "-c", "exit 7"))
	held := run(t, dir, line, "true")
	assert.Equal(t, 75, held, "kept for --min-hold")
	assert.Contains(t, fine, held)
	for _, code := range []int{69, 74, 79} {
		assert.NotContains(t, fine, code)
		assert.NotContains(t, never, code)
	}
	assert.Contains(t, never, run(t, t.TempDir(), line, "/no/such/command"))
	assert.Contains(t, never, run(t, t.TempDir(), slices.Insert(slices.Clone(line), 3, "--no-such-option"), "true"))
}

// systemd-analyze, if installed, finds no fault in the units.
func TestSystemdTakesTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		const missing = "no systemd-analyze here: the units are read by TestTheServiceRuns only"
		if os.Getenv("ROWLOCK_REQUIRE") == "all" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	built, err := command()
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"nightly.service", "nightly.timer"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		placed := strings.ReplaceAll(string(text), "/usr/local/bin/rowlock", built)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(placed), 0o600))
		output, err := exec.Command(analyze, "verify", "--recursive-errors=no", filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", output)
		assert.NotContains(t, string(output), name+":", "%s", output)
	}
}

// Kubernetes knows every field of the CronJob, and the command of the CronJob works. Kubernetes does not retry the job
// after the exit codes of errors that a retry cannot fix. The systemd service lists the same exit codes.
func TestTheCronJobRuns(t *testing.T) {
	job := readCronJob(t).Spec.JobTemplate.Spec
	pod := job.Template.Spec
	line := pod.Containers[0].Command
	assert.Equal(t, 7, run(t, t.TempDir(), line, "sh", "-c", "exit 7"))
	dir := t.TempDir()
	assert.Zero(t, run(t, dir, line, "true"))
	assert.Zero(t, run(t, dir, line, "false"), "it is kept for --min-hold, so it is skipped")
	assert.Greater(t, pod.TerminationGracePeriodSeconds, 10, "--grace")
	assert.Equal(t, "Never", pod.RestartPolicy, "required by a podFailurePolicy")
	rule := job.PodFailurePolicy.Rules[1]
	require.Equal(t, "FailJob", rule.Action)
	assert.Equal(t, pod.Containers[0].Name, rule.OnExitCodes.ContainerName)
	assert.Contains(t, rule.OnExitCodes.Values, run(t, t.TempDir(), line, "/no/such/command"))
	for _, code := range []int{69, 74, 75, 79} {
		assert.NotContains(t, rule.OnExitCodes.Values, code)
	}
	assert.Equal(t, codes(t, unit(t, "nightly.service")["RestartPreventExitStatus"][0]), rule.OnExitCodes.Values)
}
