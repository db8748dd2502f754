package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/vmjob"
)

// out is where what the jobs print is kept until it is handed back.
const out = "/run/results"

// runAll runs every job of the list.
func runAll() (vmjob.Report, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return vmjob.Report{}, err
	}
	report := vmjob.Report{
		Release: unix.ByteSliceToString(name.Release[:]), Machine: unix.ByteSliceToString(name.Machine[:]),
	}
	text, err := os.ReadFile(filepath.Join(vmjob.Payload, vmjob.ListFile))
	if err != nil {
		return report, err
	}
	var list vmjob.List
	if err := json.Unmarshal(text, &list); err != nil {
		return report, err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return report, err
	}
	for i, job := range list.Jobs {
		fmt.Printf("vminit: %d/%d %s\n", i+1, len(list.Jobs), job.Name)
		r := run(i, job)
		fmt.Printf("vminit: %d/%d %s: status %d in %d s %s\n", i+1, len(list.Jobs), job.Name, r.Status, r.Seconds, r.Error)
		tell(filepath.Join(out, job.Name))
		report.Results = append(report.Results, r)
	}
	return report, nil
}

// tell shows on the console which tests of a job have failed: the rest comes at the end.
func tell(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "--- FAIL: ") {
			fmt.Printf("vminit:   %s\n", strings.TrimSpace(strings.ReplaceAll(line, "\x16", "")))
		}
	}
}

// run runs one job and ends what it has left.
func run(i int, job vmjob.Job) vmjob.Result {
	r := vmjob.Result{Name: job.Name, Status: -1}
	began := time.Now()
	var err error
	r.Status, err = start(i, job)
	if err != nil {
		r.Error = err.Error()
	}
	r.Seconds = int(time.Since(began).Seconds())
	return r
}

func start(i int, job vmjob.Job) (status int, err error) {
	file, err := os.Create(filepath.Join(out, job.Name))
	if err != nil {
		return -1, err
	}
	defer file.Close()
	tmp := filepath.Join("/tmp", "job"+strconv.Itoa(i))
	top, group, err := makeGroup(i, job)
	if err != nil {
		return -1, err
	}
	defer end(top)
	uid, gid := owner(job)
	if err := errors.Join(os.Mkdir(tmp, 0o755), os.Chown(tmp, uid, gid)); err != nil {
		return -1, err
	}
	defer os.RemoveAll(tmp)
	if _, err := os.Stat(job.Dir); errors.Is(err, os.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(job.Dir, 0o755), os.Chown(job.Dir, uid, gid)); err != nil {
			return -1, err
		}
	}
	cmd := exec.Command(job.Args[0], job.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = job.Dir, file, file
	cmd.Env = append(environment(job, tmp), job.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
	}
	if group != "" {
		dir, err := os.Open(group)
		if err != nil {
			return -1, err
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	if err := cmd.Start(); err != nil {
		return -1, err
	}
	return wait(cmd, time.Duration(job.Seconds)*time.Second)
}

// wait waits for the job. A Go program that is too slow is asked for its stacks first.
func wait(cmd *exec.Cmd, most time.Duration) (int, error) {
	late := false
	ask := time.AfterFunc(most, func() { late = true; _ = cmd.Process.Signal(unix.SIGQUIT) })
	kill := time.AfterFunc(most+time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	ask.Stop()
	kill.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1, err
	}
	if late {
		return -1, fmt.Errorf("took longer than %s", most)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

func owner(job vmjob.Job) (uid, gid int) {
	if job.Root {
		return 0, 0
	}
	return vmjob.UID, vmjob.GID
}

func environment(job vmjob.Job, tmp string) []string {
	user, home := "user", "/home/user"
	if job.Root {
		user, home = "root", "/root"
	}
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/bash",
		"USER=" + user, "LOGNAME=" + user, "HOME=" + home, "TMPDIR=" + tmp,
	}
}

// makeGroup makes the job's group. top is what has to be ended, group where the job starts.
func makeGroup(i int, job vmjob.Job) (top, group string, err error) {
	if job.Cgroup == vmjob.Root {
		return "", "", nil
	}
	top = filepath.Join(vmjob.Group, strconv.Itoa(i))
	if err := os.Mkdir(top, 0o755); err != nil {
		return "", "", err
	}
	group = top
	if job.Cgroup == vmjob.Left {
		group = filepath.Join(top, "brainbox-self")
		if err := errors.Join(enable(top), os.Mkdir(group, 0o755)); err != nil {
			return top, "", err
		}
	}
	if job.Cgroup == "" {
		return top, group, nil
	}
	uid, gid := owner(job) // what delegation is, cgroups(7)
	for _, dir := range []string{top, group} {
		for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
			if err := os.Chown(filepath.Join(dir, name), uid, gid); err != nil {
				return top, "", err
			}
		}
	}
	return top, group, nil
}

// end ends every process but the first and this one, and removes a group with all that is
// below it.
func end(top string) {
	_ = unix.Kill(-1, unix.SIGKILL)
	if top == "" {
		return
	}
	for range 500 {
		var dirs []string
		_ = filepath.WalkDir(top, func(name string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, name)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			_ = unix.Rmdir(dir)
		}
		if _, err := os.Stat(top); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond) // what was killed still counts for a moment
	}
	fmt.Println("vminit: left behind:", top)
}

// deliver writes the report, and what the jobs have printed, to the last disk.
func deliver(report vmjob.Report) error {
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, vmjob.Results), text, 0o644); err != nil {
		return err
	}
	return archive(out, vmjob.DiskResults)
}
