package child

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Process represents a running command and its job object, which replaces the process group of Unix.
// All processes that the command starts belong to the job.
type Process struct {
	cmd    *exec.Cmd
	job    windows.Handle
	Exited chan int            // receives the exit code of the command itself
	Paused chan syscall.Signal // never receives anything: Windows does not suspend programs
	Gone   chan struct{}       // closed when no process of the job is left
}

// Guard does nothing on Windows: the system itself ends the processes of the job when rowlock dies.
type Guard struct{}

// NewGuard returns a Guard.
func NewGuard() *Guard { return &Guard{} }

// Prepare does nothing.
func (*Guard) Prepare() {}

// End does nothing.
func (*Guard) End() {}

// Start starts the command in its own job object, and in its own console group, which can receive Ctrl-Break.
// The command stays suspended until it is in the job. So the command cannot start a child outside of the job. There is no
// guard, so nothing removes the folder of the socket if rowlock is killed.
func Start(path string, argv, env []string, std system.Stdio, _ *Guard, _ string) (*Process, error) {
	job, err := createJob()
	if err != nil {
		return nil, exit.Failf(exit.Internal, "create a job object: %w", err)
	}
	cmd := command(path, argv, env, std)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, startFailure(path, err)
	}
	c := &Process{cmd: cmd, job: job, Exited: make(chan int, 1), Paused: make(chan syscall.Signal), Gone: make(chan struct{})}
	if err := c.enter(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, exit.Failf(exit.Internal, "%s: %w", terminal.Quoted(path), err)
	}
	go c.wait()
	return c, nil
}

// createJob creates a job object. The system kills the processes of the job when the last handle of the job is closed.
// Only rowlock has a handle, and the system closes that handle when rowlock dies.
func createJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// checkInterpreter does nothing: Windows does not run scripts by a first line that names an interpreter.
func checkInterpreter(string) error { return nil }

// enter adds the suspended command to the job, and then resumes the command.
func (c *Process) enter() error {
	pid := uint32(c.cmd.Process.Pid) //nolint:gosec // it was one
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(c.job, process); err != nil {
		return err
	}
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		return err
	}
	return err
}

func (c *Process) wait() {
	defer close(c.Gone)
	_ = c.cmd.Wait()
	c.Exited <- c.cmd.ProcessState.ExitCode()
	for pause := time.Millisecond; c.members() > 0; pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
	}
}

// accounting has the layout of JOBOBJECT_BASIC_ACCOUNTING_INFORMATION in winnt.h, information class 1.
type accounting struct {
	userTime, kernelTime, periodUserTime, periodKernelTime int64
	pageFaults, total, active, terminated                  uint32
}

// members returns the number of active processes in the job.
func (c *Process) members() uint32 {
	const basicAccountingInformation = 1
	var info accounting
	err := windows.QueryInformationJobObject(c.job, basicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0
	}
	return info.active
}

func (c *Process) signal(os.Signal) { c.Terminate() }

// Terminate sends Ctrl-Break to the console group, because Windows can send no other console event to one group.
func (c *Process) Terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.cmd.Process.Pid)) //nolint:gosec // it was one
}

// Kill kills all remaining processes of the job at once.
func (c *Process) Kill() { _ = windows.TerminateJobObject(c.job, exit.Signal+9) }

func isNoProgram(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

func isNoRoom(err error) bool { return errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY) }

// Foreground does nothing on Windows: all processes of a console can read from it.
type Foreground struct{}

func (Foreground) Forward(c *Process, sig os.Signal)                 { c.signal(sig) }
func (Foreground) ChildPaused(*Process, syscall.Signal, func() bool) {}
func (Foreground) TakeBack()                                         {}
