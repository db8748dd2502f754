package needs

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// NPM asks for npm, node and a package of the configured registry, such as "left-pad@1.3.0",
// and returns a folder of the test's own with node_modules in it. None of the package's
// scripts is run. Its words are "npm", "node", and "registry" for the package.
func NPM(t testing.TB, spec string) string {
	t.Helper()
	npm, dir := Tool(t, "npm"), t.TempDir()
	Tool(t, "node")
	settle(t, wordRegistry, read(t).has(wordRegistry), tryPackage(npm, dir, spec))
	return dir
}

// tryPackage installs a package.
func tryPackage(npm, dir, spec string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--prefix", dir, spec)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w\n%s", spec, err, out)
	}
	return nil
}
