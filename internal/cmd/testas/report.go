package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// describe is what became of a package, for a report: how many tests passed, and each that
// was skipped or failed, with the first line that it said. A test whose part was skipped or
// failed is named by its parts.
func describe(path, out string, err error) string {
	var passed, skipped, failed int
	var lines strings.Builder
	_, rest, _ := strings.Cut(out, marker)
	said := map[string]string{} // the last thing that a test said
	running := ""
	for part := range strings.SplitSeq(rest, marker) {
		head, after, _ := strings.Cut(part, "\n")
		kind, name, _ := strings.Cut(strings.TrimLeft(head, " "), ": ")
		if strings.HasPrefix(head, "=== ") {
			fields := strings.Fields(head)
			kind, name = "", fields[len(fields)-1]
		}
		name, _, _ = strings.Cut(name, " ")
		running = name
		if line := firstLine(after); line != "" && said[running] == "" {
			said[running] = line
		}
		switch kind {
		case "--- PASS":
			passed++
		case "--- SKIP":
			skipped++
			fmt.Fprintf(&lines, "    not run  %s: %s\n", name, said[name])
		case "--- FAIL":
			failed++
			fmt.Fprintf(&lines, "    failed   %s: %s\n", name, said[name])
		}
	}
	end := ""
	if err != nil && failed == 0 {
		end = ", and the test binary failed: " + err.Error()
	}
	return fmt.Sprintf("\n%s\n    passed %d, not run %d, failed %d%s\n%s", path, passed, skipped, failed, end, lines.String())
}

// firstLine is the first line of a text, without where in the source it was said.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(text, " \n"), "\n")
	if at := strings.Index(line, "_test.go:"); at >= 0 {
		_, line, _ = strings.Cut(line[at+len("_test.go:"):], ": ")
	}
	const most = 160
	if line = strings.TrimSpace(line); len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// appendTo writes at the end of a file that may be there.
func appendTo(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(text)
	return err
}
