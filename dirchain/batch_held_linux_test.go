package dirchain

import (
	"errors"
	"os"
	"testing"
)

// Two files that were judged when their directory was not there: the batch makes it for
// both, and refuses when somebody else has made it meanwhile.
func TestBatchJudgedInNewDirectory(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, dir string){
		"control: nothing": nil,
		"another directory": func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Mkdir(dir+"/new", 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"a link": func(t *testing.T, dir string) {
			t.Helper()
			symlink(t, "old", dir+"/new")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(dir+"/old", 0o755); err != nil {
				t.Fatal(err)
			}
			r, err := OpenRoot(dir, Options{SkipSync: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			entries := []BatchEntry{one("new/a"), one("new/deep/b"), one("new/deep/c")}
			for i := range entries {
				held, err := r.Hold("new") // what a judge holds of each: the first that is missing
				if err != nil {
					t.Fatal(err)
				}
				defer held.Close()
				entries[i].Held = held
			}
			if meanwhile != nil {
				meanwhile(t, dir)
			}
			got, err := r.Batch(t.Context(), entries)
			if meanwhile == nil {
				if err != nil || read(t, dir+"/new/a")+read(t, dir+"/new/deep/b")+read(t, dir+"/new/deep/c") != "new/anew/deep/bnew/deep/c" {
					t.Errorf("%v, %+v", err, got)
				}
				return
			}
			if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrLink) && !errors.Is(err, ErrNotDirectory) {
				t.Errorf("error %v", err)
			}
			if names(t, dir+"/old") != "" {
				t.Errorf("written through a link: %s", names(t, dir+"/old"))
			}
			if all, err := os.ReadDir(dir + "/new"); err == nil && len(all) > 0 {
				t.Errorf("left %v", all)
			}
		})
	}
}
