package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"brainbox/dirchain"
)

// What is compared on each file system, in this process.
const (
	writeBytes  = 4 << 10
	smallBytes  = 4 << 10
	largeBytes  = 64 << 10
	walkFolders = 100
	walkEach    = 1000
	hugeBytes   = 1 << 30
	batch       = 50 // operations that are timed as one
)

// trial is one thing done by the package and without it.
type trial struct {
	what            string
	bound           float64
	ops             int // a round
	rounds          int
	plain, mediated func(i int) error
}

// dirchainPart measures effects through held directories where work lies and, when
// there is one, on a tmpfs.
func (o *options) dirchainPart(out io.Writer) error {
	fmt.Fprintf(out, "\n## Effects through held directories\n\n%s\n", machine())
	fmt.Fprint(out, "\nPackage `dirchain` beside the plain calls of package os, in one process, two\n"+
		"directories deep, without fsync. A write makes some 35 system calls where four\n"+
		"would do: what is visible is compared with what is held before and after. What\n"+
		"they cost shows where the file system itself costs nothing. On ext4, a rename\n"+
		"over a file starts to write its blocks at once (auto_da_alloc, ext4(5)); the\n"+
		"exchange that dirchain makes does not.\n")
	for _, dir := range []string{o.root, o.tmpfs} {
		if dir == "" {
			continue
		}
		if err := o.dirchainOn(out, dir); err != nil {
			return err
		}
	}
	return nil
}

// dirchainOn measures in one folder, which is emptied again.
func (o *options) dirchainOn(out io.Writer, dir string) (err error) {
	name, err := filesystem(dir)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "dirchain")
	if err = fillDirchain(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := dirchain.OpenRoot(dir, dirchain.Options{SkipSync: true, MaxFile: 2 * hugeBytes})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	fmt.Fprintf(out, "\nOn %s, %d rounds, %d for the walk:\n\n", name, o.rounds, o.long)
	var rows []row
	for _, t := range o.trials(dir, root) {
		more, err := o.try(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.what, err)
		}
		rows = append(rows, more...)
	}
	mib, err := growth(root)
	if err != nil {
		return err
	}
	table(out, append(rows, atMost("MiB more in memory at most, read of 1 GiB, of which 1 MiB is returned", mib, 2)))
	return nil
}

func (o *options) trials(dir string, root *dirchain.Root) []trial {
	ctx := context.Background()
	folder, data := filepath.Join(dir, "src", "pkg"), bytes.Repeat([]byte("x"), writeBytes)
	trials := []trial{{
		"write of 4 KiB over a file", 1.5, batch, o.rounds,
		func(int) error { return plainWrite(folder, "plain", data) },
		func(int) error {
			_, err := root.Write(ctx, "src/pkg/mediated", dirchain.WriteRequest{
				Mode: dirchain.Replace, Content: bytes.NewReader(data),
			})
			return err
		},
	}}
	for _, size := range []struct {
		name, file string
	}{{"4 KiB", "small"}, {"64 KiB", "large"}} {
		trials = append(trials, trial{
			"read of " + size.name + " with its SHA-256", 1.5, batch, o.rounds,
			func(int) error { return plainRead(filepath.Join(folder, size.file)) },
			func(int) error {
				_, err := root.Read(ctx, "src/pkg/"+size.file, dirchain.ReadRequest{})
				return err
			},
		})
	}
	return append(trials, trial{
		"walk of 100 000 entries", 2, 1, o.long,
		func(int) error { return plainWalk(filepath.Join(dir, "tree")) },
		func(int) error { return walk(root, "tree") },
	})
}

// try makes the rows of one trial.
func (o *options) try(t trial) ([]row, error) {
	const plainly, mediated = "plain", "mediated"
	acts := map[string]func(int) error{plainly: t.plain, mediated: t.mediated}
	got, err := interleave([]string{plainly, mediated}, o.warm, t.rounds, func(name string) (sample, error) {
		act, start := acts[name], time.Now()
		for i := range t.ops {
			if err := act(i); err != nil {
				return sample{}, err
			}
		}
		return sample{ms: time.Since(start).Seconds() * 1e3 / float64(t.ops)}, nil
	})
	if err != nil {
		return nil, err
	}
	return []row{
		plain("µs, "+t.what+", os", got.time(plainly).times(1e3), "%.1f"),
		plain("µs, "+t.what+", dirchain", got.time(mediated).times(1e3), "%.1f"),
		bounded(t.what+", ×", got.ratio(mediated, plainly), t.bound),
	}, nil
}

func fillDirchain(dir string) error {
	folder := filepath.Join(dir, "src", "pkg")
	huge := filepath.Join(dir, "huge")
	err := errors.Join(
		write(filepath.Join(folder, "plain"), ""), write(filepath.Join(folder, "mediated"), ""),
		write(filepath.Join(folder, "small"), string(make([]byte, smallBytes))),
		write(filepath.Join(folder, "large"), string(make([]byte, largeBytes))),
		write(huge, ""), os.Truncate(huge, hugeBytes), // no block is taken: what is read is zeroes
	)
	for i := range walkFolders {
		sub := filepath.Join(dir, "tree", fmt.Sprintf("d%03d", i))
		err = errors.Join(err, os.MkdirAll(sub, 0o755))
		for k := range walkEach - 1 {
			err = errors.Join(err, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%03d", k)), nil, 0o644))
		}
	}
	return err
}

func plainWrite(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, "x")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close(), os.Rename(f.Name(), filepath.Join(dir, name)))
}

func plainRead(name string) error {
	data, err := os.ReadFile(name)
	if sum := sha256.Sum256(data); err == nil && sum == [sha256.Size]byte{} {
		return errors.New("no sum")
	}
	return err
}

func plainWalk(dir string) error {
	n := -1 // the directory itself
	err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { n++; return err })
	return errors.Join(err, counted(n))
}

func walk(root *dirchain.Root, path string) error {
	n := 0
	err := root.Walk(context.Background(), path, dirchain.WalkLimits{Entries: walkFolders * walkEach}, func(e dirchain.Entry) error {
		n++
		return e.Err
	})
	return errors.Join(err, counted(n))
}

func counted(n int) error {
	if n != walkFolders*walkEach {
		return fmt.Errorf("%d entries, want %d", n, walkFolders*walkEach)
	}
	return nil
}

// growth is by how many MiB the peak of the resident memory rises above what there
// was before when a large file is read (proc_pid_clear_refs(5), Linux 4.0).
func growth(root *dirchain.Root) (float64, error) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	before, err := statusKiB("VmRSS:")
	if err != nil {
		return 0, err
	}
	if _, err = root.Read(context.Background(), "huge", dirchain.ReadRequest{}); err != nil {
		return 0, err
	}
	peak, err := statusKiB("VmHWM:")
	return float64(max(0, peak-before)) / 1024, err
}

func statusKiB(field string) (kib int, err error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, ok := bytes.Cut(text, []byte("\n"+field))
	if !ok {
		return 0, fmt.Errorf("/proc/self/status has no %s", field)
	}
	_, err = fmt.Sscan(string(after), &kib)
	return kib, err
}

// filesystem names the type of what dir lies on (statfs(2)).
func filesystem(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", err
	}
	switch uint32(st.Type) {
	case 0xef53:
		return "ext4", nil
	case 0x58465342:
		return "xfs", nil
	case 0x9123683e:
		return "btrfs", nil
	case 0x01021994:
		return "tmpfs", nil
	case 0x794c7630:
		return "overlay", nil
	}
	return fmt.Sprintf("a file system of type 0x%x", uint32(st.Type)), nil
}
