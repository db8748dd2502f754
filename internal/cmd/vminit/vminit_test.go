package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brainbox/internal/vmjob"
)

func TestArchiveIsRead(t *testing.T) {
	dir, disk := t.TempDir(), filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600), os.WriteFile(disk, make([]byte, 1<<16), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := archive(dir, disk); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := tar.NewReader(f)
	h, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || h.Name != "a" || string(text) != "text" {
		t.Errorf("%s: %q, %v", h.Name, text, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the archive is not seen: %v", err)
	}
	if err := archive(dir, disk+"-missing"); err == nil {
		t.Error("a disk that is not there is made")
	}
}

func TestModulesAreAllLoaded(t *testing.T) {
	dir := t.TempDir()
	if err := loadModules(dir); err == nil {
		t.Error("a list that is missing is no error")
	}
	if err := os.WriteFile(dir+"/list", []byte("ext4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := loadModules(dir); err == nil {
		t.Error("a module that is missing is no error")
	}
}

// TestWait: how a job ends is told, and one that takes too long is ended.
func TestWait(t *testing.T) {
	for _, tt := range []struct {
		script string
		status int
	}{{"exit 3", 3}, {"kill -KILL $$", 137}} {
		cmd := exec.Command("/bin/sh", "-c", tt.script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if got, err := wait(cmd, time.Hour); got != tt.status || err != nil {
			t.Errorf("%s: %d, %v", tt.script, got, err)
		}
	}
	cmd := exec.Command("/bin/sh", "-c", "read never")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got, err := wait(cmd, time.Millisecond); got != -1 || err == nil {
		t.Errorf("too long: %d, %v", got, err)
	}
}

func TestEnvironment(t *testing.T) {
	for _, root := range []bool{true, false} {
		env := environment(vmjob.Job{Root: root}, "/tmp/job1")
		uid, _ := owner(vmjob.Job{Root: root})
		if want := "HOME=/root"; slices.Contains(env, want) != root || root != (uid == 0) {
			t.Errorf("root %v: uid %d, %q", root, uid, strings.Join(env, " "))
		}
	}
}
