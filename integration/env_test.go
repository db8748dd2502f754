package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile are variables that run code, point somewhere, or are secret: area L.
func hostile(w *world) map[string][]string {
	dir := w.dir("O")
	list := func(value, names string) []string {
		vars := strings.Fields(names)
		for i, n := range vars {
			vars[i] = n + "=" + value
		}
		return vars
	}
	return map[string][]string{
		"esc/EV-01": list("secret-value", "GITHUB_TOKEN MY_API_KEY DB_SECRET AWS_SECRET_ACCESS_KEY AWS_PROFILE "+
			"GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET KUBECONFIG DOCKER_HOST NPM_TOKEN "+
			"OPENAI_API_KEY"),
		"esc/EV-02": list(dir, "LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH LD_BIND_NOW GLIBC_TUNABLES"),
		"esc/EV-03": list(dir, "GCONV_PATH LOCPATH NLSPATH TZDIR HOSTALIASES RES_OPTIONS LOCALDOMAIN MALLOC_TRACE"),
		"esc/EV-04": list(dir, "BASH_ENV ENV PROMPT_COMMAND SHELLOPTS BASHOPTS PS4 IFS CDPATH BASH_FUNC_x%%"),
		"esc/EV-05": list(dir, "PYTHONSTARTUP PYTHONPATH PYTHONHOME NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS PERL5OPT "+
			"PERL5LIB PERL5DB RUBYOPT RUBYLIB"),
		"esc/EV-06": list(dir, "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH GOFLAGS RUSTC_WRAPPER "+
			"RUSTFLAGS CC CXX MAKEFLAGS CARGO_BUILD_RUSTC"),
		"esc/EV-07": list(dir, "GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_ASKPASS GIT_EXEC_PATH GIT_TEMPLATE_DIR "+
			"GIT_DIR GIT_CONFIG_COUNT"),
		"esc/EV-08": list(dir, "PAGER LESSOPEN LESSCLOSE MANPAGER EDITOR VISUAL BROWSER ELECTRON_RUN_AS_NODE"),
		"esc/EV-09": list(dir, "SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY "+
			"XAUTHORITY TMUX"),
		"esc/EV-13": list("http://caller:1", "http_proxy HTTP_PROXY https_proxy ALL_PROXY NO_PROXY no_proxy"),
		"esc/EV-14": list(dir, "OPENSSL_CONF SSL_CERT_FILE CURL_HOME TERMINFO"),
	}
}

// envOf starts a program with exactly these variables and returns the names and
// values that it sees.
func envOf(t *testing.T, w *world, inside bool, vars []string) map[string]string {
	t.Helper()
	cmd := exec.Command("/usr/bin/env", "-0")
	if inside {
		cmd = boxed(nil, "/usr/bin/env", "-0")
	}
	cmd.Env = vars
	r := run(t, w.dir("W"), cmd)
	if r.status != 0 {
		t.Fatalf("status %d\n%s", r.status, r.err)
	}
	seen := map[string]string{}
	for kv := range strings.SplitSeq(strings.TrimSuffix(r.out, "\x00"), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		if _, twice := seen[name]; twice {
			t.Errorf("%q is there twice", name)
		}
		seen[name] = value
	}
	return seen
}

// plainEnv is what any start needs to find its folders.
func plainEnv(t *testing.T) []string {
	t.Helper()
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + os.Getenv("HOME")}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	return env
}

func TestMatrixEnvironment(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	for id, vars := range hostile(w) {
		t.Run(id, func(t *testing.T) {
			all := append(plainEnv(t), vars...)
			inside, outside := envOf(t, w, true, all), envOf(t, w, false, all)
			for _, kv := range vars {
				name, value, _ := strings.Cut(kv, "=")
				if got, found := inside[name]; found && got == value {
					t.Errorf("%s=%q is inside", name, got)
				}
				if outside[name] != value {
					t.Errorf("control: %s is not outside", name)
				}
			}
		})
	}
}

func TestEnvironmentIsRebuilt(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	plant := filepath.Join(w.dir("W"), "id")
	must(t, os.WriteFile(plant, []byte("#!/bin/sh\necho planted\n"), 0o755))

	t.Run("esc/EV-10 a path that the program can write", func(t *testing.T) {
		for _, path := range []string{".", "", w.dir("W")} {
			env := append(plainEnv(t), "PATH="+path+":/usr/bin:/bin")
			cmd := boxed(nil, "id")
			cmd.Env = env
			if r := run(t, w.dir("W"), cmd); r.status != 0 || strings.Contains(r.out, "planted") {
				t.Errorf("PATH %q: status %d, %q %q", path, r.status, r.out, r.err)
			}
			got := envOf(t, w, true, env)["PATH"]
			elements := filepath.SplitList(got)
			if slices.Contains(elements, path) || slices.Contains(elements, "") || slices.Contains(elements, ".") {
				t.Errorf("PATH %q: inside it is %q", path, got)
			}
		}
		control := exec.Command("/bin/sh", "-c", "id")
		control.Env = append(plainEnv(t), "PATH=.:/usr/bin:/bin")
		if r := run(t, w.dir("W"), control); !strings.Contains(r.out, "planted") {
			t.Errorf("control: %q", r.out)
		}
	})
	t.Run("esc/EV-11 folders", func(t *testing.T) {
		var vars []string
		for _, name := range []string{"TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
			vars = append(vars, name+"="+w.dir("O"))
		}
		env := envOf(t, w, true, append(plainEnv(t), vars...))
		for name, value := range env {
			if value == w.dir("O") || name == "HOME" && value == os.Getenv("HOME") {
				t.Errorf("%s=%q points out", name, value)
			}
		}
		for _, name := range []string{"HOME", "TMPDIR"} {
			if env[name] == "" {
				t.Errorf("%s is missing", name)
			}
		}
	})
	t.Run("esc/EV-12 malformed variables", func(t *testing.T) {
		odd := []string{"LANG=A", "LANG=B", "=empty", "NOEQUALS", "NEW\nLINE=1", "LC_BAD=\xff\xfe"}
		odd = append(odd, "LC_LONG="+strings.Repeat("x", 100<<10))
		env := envOf(t, w, true, append(plainEnv(t), odd...))
		for _, name := range []string{"", "NOEQUALS", "NEW\nLINE"} {
			if _, found := env[name]; found {
				t.Errorf("%q is inside", name)
			}
		}
		if env["LANG"] == "" {
			t.Errorf("LANG is missing: %q", env)
		}
	})
}
