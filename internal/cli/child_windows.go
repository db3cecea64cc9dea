package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// child is a running command and the job object that it and all that it starts belong to, which is
// what Windows has for a process group.
type child struct {
	cmd    *exec.Cmd
	job    windows.Handle
	exited chan int            // gets the exit code of the command itself
	paused chan syscall.Signal // never gets anything: nothing suspends a program here
	gone   chan struct{}       // closed when nobody of the job is left
}

// startChild starts the command in a job of its own, and in a console group, which Ctrl-Break can be
// sent to. It is suspended until it is in the job, so that none of its children escape.
func startChild(path string, argv, env []string, std Stdio) (*child, error) {
	job, err := createJob()
	if err != nil {
		return nil, fail(exitInternal, "create a job object: %w", err)
	}
	cmd := command(path, argv, env, std)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, startFailure(path, err)
	}
	c := &child{cmd: cmd, job: job, exited: make(chan int, 1), paused: make(chan syscall.Signal), gone: make(chan struct{})}
	if err := c.enter(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, fail(exitInternal, "%s: %w", quoted(path), err)
	}
	go c.wait()
	return c, nil
}

// createJob makes a job object whose processes the system kills when its last handle is closed: rowlock has the only
// one, and the system closes it when rowlock is killed.
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

// checkInterpreter does nothing: a script is started by its program here.
func checkInterpreter(string) error { return nil }

// isGuard is never so: the job object does what a guard does elsewhere.
func isGuard([]string) bool { return false }

func beGuard(io.Reader) int { return exitInternal }

// enter puts the command into the job and lets it run.
func (c *child) enter() error {
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

func (c *child) wait() {
	defer close(c.gone)
	_ = c.cmd.Wait()
	c.exited <- c.cmd.ProcessState.ExitCode()
	for pause := time.Millisecond; c.members() > 0; pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
	}
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION of winnt.h, information class 1.
type accounting struct {
	userTime, kernelTime, periodUserTime, periodKernelTime int64
	pageFaults, total, active, terminated                  uint32
}

// members is how many processes of the job are left.
func (c *child) members() uint32 {
	const basicAccountingInformation = 1
	var info accounting
	err := windows.QueryInformationJobObject(c.job, basicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0
	}
	return info.active
}

func (c *child) signal(os.Signal) { c.terminate() }

// terminate sends Ctrl-Break, the only one of the console's events that can be sent to a group.
func (c *child) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.cmd.Process.Pid)) //nolint:gosec // it was one
}

func (c *child) kill() { _ = windows.TerminateJobObject(c.job, exitSignal+9) }

func isNoProgram(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

func isNoRoom(err error) bool { return errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY) }

// terminal is nothing that has to be lent here: a console belongs to all its processes.
type terminal struct{}

func (terminal) forward(c *child, sig os.Signal)                 { c.signal(sig) }
func (terminal) childPaused(*child, syscall.Signal, func() bool) {}
func (terminal) takeBack()                                       {}
