package nofile_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/nofile"
)

// The test is in a package of its own: inside, the package itself would import
// os and start after it.
//
// TestOriginal starts itself with a soft limit below the hard one. Package syscall
// must have raised its own copy (the positive control), Original must not show it.
func TestOriginal(t *testing.T) {
	if os.Getenv("NOFILE_CHILD") != "" {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
			t.Fatal(err)
		}
		soft, hard, ok := nofile.Original()
		fmt.Printf("CHILD %d %d %v raised=%v\n", soft, hard, ok, now.Cur > soft)
		return
	}
	cmd := exec.Command("/bin/sh", "-c", `ulimit -Sn 77 && exec "$0" -test.run=^TestOriginal$`, os.Args[0])
	cmd.Env = append(os.Environ(), "NOFILE_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "CHILD ")
	var soft, hard uint64
	var ok, raised bool
	if _, err := fmt.Sscanf(rest, "%d %d %t raised=%t", &soft, &hard, &ok, &raised); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if !ok || soft != 77 || hard < 78 || !raised {
		t.Errorf("Original() in the child: soft %d, hard %d, ok %v, raised %v; want 77, more, true, true", soft, hard, ok, raised)
	}
}
