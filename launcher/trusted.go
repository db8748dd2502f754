package launcher

import (
	"strings"

	"brainbox/policy"
)

// trustedNames are the places of a home folder, and those that begin with a dot of any folder,
// from which programs outside of the sandbox take what they run.
var trustedNames = [...]struct{ path, what string }{
	{".bashrc", "what shells run"},
	{".bash_profile", "what shells run"},
	{".bash_login", "what shells run"},
	{".bash_logout", "what shells run"},
	{".bash_aliases", "what shells run"},
	{".profile", "what shells run"},
	{".zshrc", "what shells run"},
	{".zshenv", "what shells run"},
	{".zprofile", "what shells run"},
	{".zlogin", "what shells run"},
	{".kshrc", "what shells run"},
	{".config/fish", "what shells run"},
	{".envrc", "what shells run"},
	{"bin", "programs that the user runs"},
	{".local/bin", "programs that the user runs"},
	{"go/bin", "programs that the user runs"},
	{".cargo/bin", "programs that the user runs"},
	{".local/lib", "programs that the user runs"},
	{".git", "what git runs"},
	{".gitconfig", "what git runs"},
	{".config/git", "what git runs"},
	{".husky", "what git runs"},
	{".ssh", "who may log in, and what ssh runs"},
	{".vimrc", "what editors run"},
	{".vim", "what editors run"},
	{".config/nvim", "what editors run"},
	{".emacs", "what editors run"},
	{".emacs.d", "what editors run"},
	{".config/emacs", "what editors run"},
	{".vscode", "what editors run"},
	{".vscode-server", "what editors run"},
	{".config/Code", "what editors run"},
	{".idea", "what editors run"},
	{".config/autostart", "what the session runs"},
	{".config/environment.d", "what the session runs"},
	{".config/systemd", "what the session runs"},
	{".local/share/systemd", "what the session runs"},
	{".local/share/applications", "what the session runs"},
	{".local/share/dbus-1", "what the session runs"},
	{".xinitrc", "what the session runs"},
	{".xprofile", "what the session runs"},
	{".xsession", "what the session runs"},
	{".pam_environment", "what the session runs"},
	{".npmrc", "what package managers run"},
	{".cargo/config", "what package managers run"},
	{".cargo/config.toml", "what package managers run"},
	{".config/pip", "what package managers run"},
	{".tmux.conf", "what the terminal runs"},
	{".screenrc", "what the terminal runs"},
	{".gdbinit", "what debuggers run"},
	{".claude", "what agents run"},
	{".codex", "what agents run"},
	{".gemini", "what agents run"},
}

// trustedPlaces are such places of the host.
var trustedPlaces = [...]struct{ path, what string }{
	{"/etc", "what the host runs"},
	{"/usr", "what the host runs"},
	{"/bin", "what the host runs"},
	{"/sbin", "what the host runs"},
	{"/lib", "what the host runs"},
	{"/lib32", "what the host runs"},
	{"/lib64", "what the host runs"},
	{"/libx32", "what the host runs"},
	{"/opt", "what the host runs"},
	{"/nix", "what the host runs"},
	{"/boot", "what the host runs"},
	{"/var/spool/cron", "what the host runs"},
	{"/var/lib", "what the host runs"},
	{"/proc", "settings of the kernel"},
	{"/sys", "settings of the kernel"},
	{"/dev/input", "what is typed"},
	{"/dev/uinput", "what is typed"},
}

// Trusted says what a path holds, or lies in, that is run or believed outside of the sandbox:
// whoever writes it is not confined for long; "" if nothing of that kind is known of it. It
// goes by names alone.
func (f *Facts) Trusted(path string) string {
	own := f.homes()
	for _, home := range append(othersHomes(path), own...) {
		if policy.Below(home, path) && path != "/" {
			return "all that is a user's"
		}
		for _, t := range trustedNames {
			if around(path, home+"/"+t.path) {
				return t.what
			}
		}
	}
	for _, t := range trustedNames {
		if t.path[0] == '.' && leads(path, t.path) {
			return t.what
		}
	}
	for _, t := range trustedPlaces {
		if around(path, t.path) {
			return t.what
		}
	}
	return rawMemory(path)
}

// leads reports whether a path leads through such names, wherever they are.
func leads(path, names string) bool { return strings.Contains(path+"/", "/"+names+"/") }

// obeys says who does what the clients of a Unix socket ask for, outside of the sandbox; "" if
// it is not known of one with this name.
func obeys(path string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case runsContainers(path):
		return "be root on this host"
	case base == "bus", base == "system_bus_socket", leads(path, "systemd"):
		return "start programs outside of the sandbox"
	case strings.HasPrefix(base, "S.gpg-agent"), strings.HasPrefix(base, "agent."), strings.Contains(base, "ssh-agent"),
		strings.HasPrefix(base, "S.scdaemon"), leads(path, "keyring"), leads(path, "gnupg"):
		return "use the keys of the user"
	case leads(path, ".X11-unix"), strings.HasPrefix(base, "wayland-"):
		return "see and type on the screen"
	case strings.HasPrefix(base, "tmux-"), leads(path, "tmux"):
		return "type in other terminals"
	}
	return ""
}
