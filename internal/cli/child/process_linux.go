package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the new parent of its descendants whose own parent has ended (prctl(2),
// PR_SET_CHILD_SUBREAPER, Linux 3.4). Otherwise process 1 becomes their parent. In many containers process 1 never
// waits for its children, so ended processes remain in the group as zombies, and the group never seems to end.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// dieTogether makes the kernel kill the command's first process when the thread that has started it ends
// (PR_SET_PDEATHSIG). This also works if the guard was killed together with rowlock, or did not know the group yet.
func dieTogether(attr *syscall.SysProcAttr) { attr.Pdeathsig = unix.SIGKILL }

// ownProgram returns a path to this program's file. The path stays valid after an update has replaced the file.
func ownProgram() (string, error) { return "/proc/self/exe", nil }
