package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// wanted are the modules that a machine loads, in this order. A required one is in every
// kernel, as a module or built in.
var wanted = []struct {
	name     string
	required bool
}{
	{"virtio_pci", true},
	{"virtio_mmio", false},
	{"virtio_blk", true},
	{"crc32c_generic", false},
	{"crc32c_intel", false},
	{"ext4", true},
	{"overlay", true},
	{"loop", true},
	{"fuse", false},
	{"btrfs", false},
	{"xfs", false},
	{"vfat", false},
	{"nls_ascii", false},
	{"sctp", false},
	{"vsock", false},
	{"unix_diag", false},
	{"dummy", false},
}

// loader collects modules, each after those that it needs.
type loader struct {
	files   map[string]string // by name
	builtin map[string]bool
	read    func(file string) ([]byte, error)
	done    map[string]bool
	list    []loaded
}

type loaded struct {
	name string
	text []byte
}

// modulesOf reads the wanted modules of a kernel.
func modulesOf(ctx context.Context, dir string) ([]loaded, error) {
	builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	l := &loader{
		files: map[string]string{}, builtin: names(string(builtin)), done: map[string]bool{},
		read: func(file string) ([]byte, error) { return module(ctx, file) },
	}
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err == nil && strings.Contains(e.Name(), ".ko") {
			l.files[moduleName(file)] = file
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		if !w.required && l.files[w.name] == "" {
			continue
		}
		if err := l.add(w.name); err != nil {
			return nil, err
		}
	}
	return l.list, nil
}

// add adds a module after what it depends on.
func (l *loader) add(name string) error {
	if l.done[name] || l.builtin[name] {
		return nil
	}
	l.done[name] = true
	file, ok := l.files[name]
	if !ok {
		return fmt.Errorf("the kernel has no module %s", name)
	}
	text, err := l.read(file)
	if err != nil {
		return err
	}
	needs, err := depends(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Base(file), err)
	}
	for _, other := range needs {
		if err := l.add(other); err != nil {
			return err
		}
	}
	l.list = append(l.list, loaded{name, text})
	return nil
}

// depends reads what a module says that it depends on (MODULE_INFO, "depends").
func depends(text []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("it has no .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	return dependsIn(string(info)), nil
}

func dependsIn(info string) []string {
	for entry := range strings.SplitSeq(info, "\x00") {
		if list, ok := strings.CutPrefix(entry, "depends="); ok {
			return strings.FieldsFunc(strings.ReplaceAll(list, "-", "_"), func(r rune) bool { return r == ',' })
		}
	}
	return nil
}

// names are the modules in a list of files.
func names(list string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(list) {
		set[moduleName(strings.TrimSpace(line))] = true
	}
	return set
}

// moduleName is a module's name by its file: "-" and "_" are the same.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// module reads a module's file and takes the compression off, which not every kernel can.
func module(ctx context.Context, file string) ([]byte, error) {
	var tool string
	switch path.Ext(file) {
	case ".xz":
		tool = "xz"
	case ".zst":
		tool = "zstd"
	default:
		return os.ReadFile(file)
	}
	text, err := output(ctx, tool, "-dc", file)
	return []byte(text), err
}

// initramfs writes what the kernel starts from: the init, and the modules in order.
func (k *kernel) initramfs(ctx context.Context, init, to string) error {
	list, err := modulesOf(ctx, k.modules)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(init)
	if err != nil {
		return err
	}
	a := archive{}
	a.dir("dev")
	a.device("dev/console", 5, 1)
	a.file("init", 0o755, program)
	a.dir("modules")
	var order strings.Builder
	for _, m := range list {
		a.file("modules/"+m.name, 0o644, m.text)
		order.WriteString(m.name + "\n")
	}
	a.file("modules/list", 0o644, []byte(order.String()))
	return os.WriteFile(to, a.end(), 0o644)
}
