package dirchain

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// TestMaskedElsewhere: what hides a file in another mount namespace goes with the
// file (the kernel detaches it when the last of its name goes, mount_namespaces(7)),
// so a sandbox that hides files must have them protected. Without it, and that is
// the control, whoever asks for a text to be appended can read all of it.
func TestMaskedElsewhere(t *testing.T) {
	if !needs.IsChild(t) {
		needs.Program(t, "unshare")
	}
	if !needs.InMounts(t) {
		return
	}
	both(t, func(t *testing.T, opts Options) {
		for name, effect := range map[string]func(ctx context.Context, r *Root) error{
			"append": func(ctx context.Context, r *Root) error { return wrote(ctx, r, "d/f", Append, "+", nil) },
			"rename over it": func(ctx context.Context, r *Root) error {
				_, err := r.Rename(ctx, "secret", "d/f", RenameRequest{Replace: true})
				return err
			},
		} {
			for _, protect := range []bool{true, false} {
				dir := t.TempDir()
				put(t, dir+"/d/f", "secret")
				put(t, dir+"/secret", "secret")
				put(t, dir+"/empty", "")
				if opts.Protect = nil; protect {
					opts.Protect = []string{"d/f"}
				}
				sees := masked(t, dir+"/empty", dir+"/d/f")
				if got := sees(); got != "" {
					t.Fatalf("%s: hidden, it is %q", name, got)
				}
				err := effect(t.Context(), open(t, dir, opts))
				if got := sees(); protect && (!errors.Is(err, ErrProtected) || got != "") {
					t.Errorf("%s, protected: %v, it is %q", name, err, got)
				} else if !protect && (err != nil || !strings.HasPrefix(got, "secret")) {
					t.Errorf("%s, control: %v, it is %q", name, err, got)
				}
			}
		}
	})
}

// masked hides a file under another one in a mount namespace of its own, and gives
// a function that says what the file is there.
func masked(t *testing.T, empty, file string) (sees func() string) {
	t.Helper()
	const script = `mount --bind "$1" "$2" && while read -r _; do echo "$(cat "$2")"; done`
	cmd := exec.CommandContext(t.Context(), "unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", empty, file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	answers := bufio.NewReader(out)
	return func() string {
		t.Helper()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(answer, "\n")
	}
}
