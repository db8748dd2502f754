package envfilter

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// evNames lists the variables of the escape matrix, area L, by row.
func evNames() map[string][]string {
	return map[string][]string{
		"EV-01": strings.Fields("GITHUB_TOKEN API_KEY MY_SECRET AWS_PROFILE GOOGLE_APPLICATION_CREDENTIALS " +
			"AZURE_CLIENT_ID KUBECONFIG DOCKER_HOST NPM_TOKEN"),
		"EV-02": strings.Fields("LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH LD_DEBUG LD_ANYTHING GLIBC_TUNABLES"),
		"EV-03": strings.Fields("GCONV_PATH LOCPATH NLSPATH TZDIR HOSTALIASES RES_OPTIONS LOCALDOMAIN MALLOC_PERTURB_"),
		"EV-04": strings.Fields("BASH_ENV ENV PROMPT_COMMAND SHELLOPTS BASHOPTS PS4 IFS CDPATH BASH_FUNC_ls%% BASH_FUNC_x()"),
		"EV-05": strings.Fields("PYTHONSTARTUP PYTHONPATH PYTHONHOME NODE_OPTIONS NODE_PATH " +
			"NODE_EXTRA_CA_CERTS PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB"),
		"EV-06": strings.Fields("JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH GOFLAGS " +
			"RUSTC_WRAPPER RUSTFLAGS CC CXX MAKEFLAGS CARGO_HOME"),
		"EV-07": strings.Fields("GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_ASKPASS GIT_EXEC_PATH " +
			"GIT_TEMPLATE_DIR GIT_DIR GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT"),
		"EV-08": strings.Fields("PAGER LESSOPEN LESSCLOSE MANPAGER EDITOR VISUAL BROWSER ELECTRON_RUN_AS_NODE"),
		"EV-09": strings.Fields("SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR DISPLAY " +
			"WAYLAND_DISPLAY XAUTHORITY TMUX"),
		"EV-13": strings.Fields("http_proxy HTTPS_PROXY ALL_PROXY all_proxy NO_PROXY Ftp_Proxy npm_config_https_proxy"),
		"EV-14": strings.Fields("OPENSSL_CONF SSL_CERT_FILE CURL_HOME TERMINFO"),
	}
}

func TestBuildDropsTheCallersOtherVariables(t *testing.T) {
	for row, names := range evNames() {
		t.Run("esc/"+row, func(t *testing.T) {
			caller := block(names...)
			caller = append(caller, "LANG=C", "LC_TIME=de_DE", "HOME=/root", "TMPDIR=/", "XDG_CACHE_HOME=/root")
			env, notes := build(t, input(caller...))
			if diff := cmp.Diff(with("LANG=C", "LC_TIME=de_DE"), env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if len(notes) > 0 {
				t.Errorf("notes %v, want none: nobody asked for these names", notes)
			}
		})
	}
}

func TestBuildRefusesToTakeFromTheCaller(t *testing.T) {
	for row, names := range evNames() {
		if row == "EV-01" || row == "EV-09" {
			continue // an operator may name these
		}
		for _, name := range names {
			for _, how := range []string{"allow", "set", "file"} {
				t.Run("esc/"+row+" "+name+" by "+how, func(t *testing.T) {
					in := input(name + "=v")
					asks := Var{Name: name, FromCaller: true, Line: 7}
					switch how {
					case "allow":
						in.Allow = []string{name}
					case "set":
						in.Set = []Var{asks}
					case "file":
						in.Files = []File{{Name: "a.env", Vars: []Var{asks}}}
					}
					_, _, err := Build(in)
					var ne *NameError
					if !errors.As(err, &ne) || ne.Name != name || !errors.Is(err, fs.ErrPermission) {
						t.Fatalf("Build: %v, want a refusal of %s", err, name)
					}
					if how == "file" && !strings.Contains(err.Error(), "a.env:7") {
						t.Errorf("%v does not name the line", err)
					}
					if ok, why := Explain(in, name); ok || why == "" {
						t.Errorf("Explain = %v, %q; want a refusal", ok, why)
					}
				})
			}
		}
	}
}

func TestBuildSetsWhatTheOperatorWrites(t *testing.T) {
	for row, names := range evNames() {
		for _, name := range names {
			t.Run("esc/"+row+" "+name, func(t *testing.T) {
				in := input(name + "=callers")
				in.Set = []Var{{Name: name, Value: "written"}}
				env, notes := build(t, in)
				if got, _ := lookup(env, name); got != "written" {
					t.Errorf("%s = %q, want the value written", name, got)
				}
				noted := len(notes) == 1 && notes[0].Name == name
				if want := classOf(name) != plain; noted != want {
					t.Errorf("notes %v, want one: %v", notes, want)
				}
			})
		}
	}
}
