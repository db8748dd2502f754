package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/needs"
)

// zshTyped has a zsh on a terminal complete command lines: what is pressed is the key that
// a person presses. Words that are offered go to descriptor 3, and nothing is inserted.
const zshTyped = `
PROMPT= RPROMPT= PROMPT_EOL_MARK=
unsetopt beep
fpath=($BRAINBOX_COMPLETIONS $fpath)
autoload -Uz compinit
compinit -u -D
zstyle ':completion:*' menu no
compadd() {
  if [[ ${argv[(I)-[OAD]*]} -ne 0 ]]; then
    builtin compadd "$@"
    return
  fi
  local -a found
  builtin compadd -O found "$@"
  offered+=($found)
  builtin compadd "$@"
}
offer() {
  local -a offered
  _main_complete
  print -rl -u3 -- $offered '=='
  compstate[insert]= compstate[list]=
}
zle -C offer complete-word offer
bindkey '^I' offer
bindkey '^U' kill-whole-line
print -r -u3 -- ready
`

// zshOffers asks a zsh on a terminal what it offers for command lines.
func zshOffers(t *testing.T, lines ...string) [][]string {
	t.Helper()
	zsh := needs.Program(t, "zsh")
	_, master, slave := terminal(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	home := t.TempDir()
	here, err := filepath.Abs(filepath.Dir(zshCompletion))
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".zshrc"), []byte(zshTyped), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), zsh, "-d", "-i") // -d: not the machine's configuration
	cmd.Env = []string{
		"ZDOTDIR=" + home, "HOME=" + home, "PATH=/usr/bin:/bin", "TERM=dumb", "LC_ALL=C",
		"XDG_RUNTIME_DIR=" + runtimeWithSession(t), "BRAINBOX_COMPLETIONS=" + here,
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = slave, slave, slave, []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := errors.Join(cmd.Start(), slave.Close(), w.Close(), r.SetReadDeadline(time.Now().Add(2*time.Minute))); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() { // or the terminal fills up
		var b strings.Builder
		_, _ = bufio.NewReader(master).WriteTo(&b)
		shown <- b.String()
	}()
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if screen := <-shown; t.Failed() {
			t.Logf("the terminal: %q", screen)
		}
	}()
	answers := bufio.NewScanner(r)
	if !answers.Scan() || answers.Text() != "ready" {
		t.Fatalf("zsh did not begin: %q, %v", answers.Text(), answers.Err())
	}
	all := make([][]string, len(lines))
	for i, line := range lines {
		if _, err := master.WriteString("\x15" + line + "\t"); err != nil {
			t.Fatal(err)
		}
		for answers.Scan() && answers.Text() != "==" {
			if word := answers.Text(); word != "" {
				all[i] = append(all[i], word)
			}
		}
		if answers.Err() != nil || answers.Text() != "==" {
			t.Fatalf("%q: zsh gave no answer: %v", line, answers.Err())
		}
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
	}
	return all
}

func TestZshOffersEveryFlag(t *testing.T) {
	everyFlagIsOffered(t, zshOffers)
}

func TestZshOffersValues(t *testing.T) {
	valuesAreOffered(t, zshOffers)
}
