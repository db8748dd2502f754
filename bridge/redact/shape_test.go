package redact

import (
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	long := strings.Repeat("aB3", 7)
	for _, c := range []struct{ text, want string }{
		{"sk-" + long, "[redacted]"},
		{"sk-" + long[:19], "sk-" + long[:19]},
		{"risk-" + long, "risk-" + long},
		{"github_pat_" + long, "[redacted]"},
		{"gho_" + long + "!", "[redacted]!"},
		{"gha_" + long, "gha_" + long},
		{"(xoxb-" + long + ")", "([redacted])"},
		{"AKIA" + strings.Repeat("A1", 8), "[redacted]"},
		{"Authorization: Bearer abc def\nNext: x", "Authorization: [redacted]\nNext: x"},
		{"> cookie:a=b\r\n", "> cookie:[redacted]\r\n"},
		{"x\nSet-Cookie: a=b; c", "x\nSet-Cookie: [redacted]"},
		{`curl -H "Authorization: Bearer abc" http://h/`, `curl -H "Authorization: [redacted]" http://h/`},
		{"https://u:p@h/x?y=z@w", "https://[redacted]@h/x?y=z@w"},
		{"postgres://u:p@ss@h:1/x", "postgres://[redacted]@h:1/x"},
		{"see https://h/@user", "see https://h/@user"},
		{`"cookie": "^0.6.0",`, `"cookie": "^0.6.0",`}, // a dependency in a file that was read
		{"the Cookie: what it is", "the Cookie: what it is"},
		{"a ghost, xox, sk-, AKIA", "a ghost, xox, sk-, AKIA"},
	} {
		if got := New(Options{}).Text(c.text, Output); got != c.want {
			t.Errorf("output %q becomes %q, want %q", c.text, got, c.want)
		}
	}
	for text, want := range map[string]string{
		`{"Authorization":"Bearer x","a":1}`:      `{"Authorization":"[redacted]","a":1}`,
		`{\"Authorization\": \"Bearer x\",\"a\"}`: `{\"Authorization\": \"[redacted]\",\"a\"}`,
		"sent Cookie: a=b":                        "sent Cookie: [redacted]",
		"mycookie: a":                             "mycookie: a",
	} {
		var zero *Redactor
		if got := zero.Text(text, Full); got != want {
			t.Errorf("error %q becomes %q, want %q", text, got, want)
		}
	}
}

func TestHostPaths(t *testing.T) {
	r := New(Options{
		SandboxRoots: []string{"/usr", "/home/op/project", "/usr/both"},
		HostRoots:    []string{"/home/op", "/srv/my data", "relative", "/usr/both"},
	})
	for _, c := range []struct{ text, full, output string }{
		{"/home/op/.ssh/id", "[host-path]", "[host-path]"},
		{"/home/op", "[host-path]", "[host-path]"},
		{"/home/op/project/x", "/home/op/project/x", "/home/op/project/x"},
		{"/home/op/projects", "[host-path]", "[host-path]"},
		{"/home/operator/x", "[host-path]", "/home/operator/x"},
		{"/usr/bin/x: /etc/y", "/usr/bin/x: [host-path]", "/usr/bin/x: /etc/y"},
		{"/usr/../home/op/x", "[host-path]", "[host-path]"},
		{"/usr/both/x", "[host-path]", "[host-path]"},
		{"//home//op/x", "[host-path]", "[host-path]"},
		{"/home/op/.", "[host-path]", "[host-path]"},
		{"PATH=/home/op/bin:/usr/bin", "PATH=[host-path]:/usr/bin", "PATH=[host-path]:/usr/bin"},
		{"-I/home/op/inc", "-I[host-path]", "-I[host-path]"},
		{"file:///home/op/x", "file://[host-path]", "file://[host-path]"},
		{"vscode://file/home/op/x", "vscode://file[host-path]", "vscode://file[host-path]"},
		{"https://host/home/op/x", "https://host/home/op/x", "https://host/home/op/x"},
		{"src/home/op/x and/or ../home/op", "src/home/op/x and/or ../home/op", "src/home/op/x and/or ../home/op"},
		{"“/home/op/x”", "“[host-path]", "“[host-path]"},
		{"/srv/my data/x y", "[host-path] y", "[host-path] y"},
		{"/srv/my database", "[host-path] database", "/srv/my database"},
		{"/ // a / b", "/ // a / b", "/ // a / b"},
		{`"/home/op/x"`, `"[host-path]"`, `"[host-path]"`},
	} {
		if got := r.Text(c.text, Full); got != c.full {
			t.Errorf("error %q becomes %q, want %q", c.text, got, c.full)
		}
		if got := r.Text(c.text, Output); got != c.output {
			t.Errorf("output %q becomes %q, want %q", c.text, got, c.output)
		}
	}
}

// What is looked at first is the text that has its places worked out when something is found.
func TestSqueezed(t *testing.T) {
	for _, s := range []string{
		"", "a", " \ta", "\n", "a\nb", "a \n b", "a\r\n\t b\n\n  \r c", "\n a", "a\n", "a\n \t", "a \t b", "\r\r", "é\n ß\r\t\"",
	} {
		if got, want := squeezed(s), squeeze(view{text: s}).text; got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
