package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of processes whose own parent has ended (prctl(2), PR_SET_CHILD_SUBREAPER,
// Linux 3.4). Otherwise process 1 becomes their parent. In many containers it never waits for children, and a group
// would never be seen to end.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// dieTogether makes the system kill the command itself when the thread that starts it ends (PR_SET_PDEATHSIG). This
// also works if the guard was killed together with rowlock, or did not yet know the group.
func dieTogether(attr *syscall.SysProcAttr) { attr.Pdeathsig = unix.SIGKILL }

// ownProgram returns the file of this program, even after an update has replaced it.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// killMarked kills the groups of all processes that have the variable in their environment.
func killMarked(mark string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		text, _ := os.ReadFile(file)
		if !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if group, err := unix.Getpgid(pid); err == nil && group > 1 {
			_ = unix.Kill(-group, unix.SIGKILL)
		}
	}
}
