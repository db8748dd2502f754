#!/bin/sh
# demo.sh BIN: shows brainbox at work on a small project in a temporary
# checkout, and checks every outcome. Ends with 1 at the first that is wrong.
# Whatever is refused is first done without brainbox, so that the refusal is
# brainbox's. Leaves nothing behind.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
"$here/need" git
T=$(mktemp -d)
listener='' own='' run=${XDG_RUNTIME_DIR:-} realhome=$HOME
end() {
	exec 9>&- || :
	[ -z "$listener" ] || wait "$listener" || :
	rm -rf "$T" ${own:+"$own"}
}
trap end EXIT
trap 'exit 1' HUP INT TERM

fail() {
	printf '\ndemo: FAILED: %s\n' "$*" >&2
	exit 1
}

title() { printf '\n== %s\n' "$*"; }

# expect STATUS TEXT COMMAND...: runs the command, shows it and what it says, and
# wants this exit status and, unless TEXT is empty, this text in the output.
expect() {
	status=$1 text=$2
	shift 2
	printf '$ %s\n' "$(printf '%s ' "$@" | sed "s|$T|…|g")"
	got=0
	"$@" >"$T/output" 2>&1 </dev/null || got=$?
	sed "s|$T|…|g; s/^/    /" "$T/output"
	printf '    [status %s]\n' "$got"
	[ "$got" = "$status" ] || fail "status $got, want $status"
	[ -z "$text" ] || grep -q -- "$text" "$T/output" || fail "no \"$text\" in the output"
}

# refused WHAT TARGET: the checkout's own program can do it alone, and cannot
# under brainbox.
refused() {
	./try.bin "$@" >/dev/null 2>&1 || fail "control: try $* does not work without brainbox"
	expect 1 'refused:' brainbox run -q -- ./try.bin "$@"
}

mkdir "$T/bin" "$T/home" "$T/home/.ssh" "$T/outside" "$T/tmp" "$T/state"
cp "$1"/brainbox* "$T/bin/"
cp -R "$here/demo/words" "$T/checkout"
cp "$here/../LICENSE" "$T/checkout/text"
canary="canary-$$-not-to-be-read"
echo "$canary" >"$T/home/.ssh/id_canary"
cd "$T/checkout"
goroot=$(go env GOROOT)
go build -buildvcs=false -o try.bin ./try
go build -buildvcs=false -o words.bin .
echo '/*.bin' >.gitignore
git -c init.defaultBranch=main init -q .
git add .
git -c user.name=demo -c user.email=demo@example.org -c commit.gpgsign=false commit -qm 'words: count words'
# shellcheck disable=SC2030,SC2031
export HOME="$T/home" TMPDIR="$T/tmp" DEMO_TOKEN="$canary" PATH="$T/bin:$PATH"
export XDG_STATE_HOME="$T/state"
unset BRAINBOX_POLICY XDG_CONFIG_HOME XDG_RUNTIME_DIR || :

title 'What this machine offers'
expect 0 landlock brainbox probe

title 'A confined command works in the checkout: it reads, writes, builds and tests'
expect 0 '^ *main\|ok' brainbox run -q --home keep --rox "$goroot" -- go test .
expect 0 '' brainbox run -q --home keep --rox "$goroot" -- go run . text report
expect 0 ' the$' cat report
expect 0 'report' brainbox run -q -- git status --short
./words.bin text "$T/outside/report"
cmp -s report "$T/outside/report" || fail 'the confined run counted otherwise'

title 'The gate says what it would make of a call of a tool, and by which rule'
cat >"$T/gate.toml" <<'END'
version = 1
[[gate.rule]]
surface = "bash"
pattern = "git *"
action = "allow"
[[gate.rule]]
surface = "bash"
pattern = "git push *"
action = "deny"
END
expect 0 '^allowed' brainbox why --policy "$T/gate.toml" tool bash 'git status'
expect 1 '^denied.*git push' brainbox why --policy "$T/gate.toml" tool bash 'cd words && git push origin'
expect 2 '^unknown: a person is asked' brainbox why --policy "$T/gate.toml" tool write_file .git/config

title 'A program inside asks: the host writes what the rules allow, and nothing else'
cat >"$T/ask.toml" <<'END'
version = 1
[[gate.rule]]
surface = "write"
pattern = "*"
action = "allow"
[[gate.rule]]
surface = "write"
pattern = "*secret*"
action = "deny"
END
expect 0 '' brainbox run -q --gate "$T/ask.toml" -- sh -c 'echo noted | brainbox write notes.md'
[ "$(cat notes.md)" = noted ] || fail 'the note is not what was written'
expect 1 'denied' brainbox run -q --gate "$T/ask.toml" -- sh -c 'echo x | brainbox write secret.txt'
expect 1 'denied' brainbox run -q --gate "$T/ask.toml" -- sh -c 'echo x | brainbox write .git/hooks/post-commit'
[ ! -e secret.txt ] && [ ! -e .git/hooks/post-commit ] || fail 'a denied write left a file'
expect 0 'the chain holds' brainbox events --verify
rm notes.md

title 'It reads nothing outside'
refused read "$T/home/.ssh/id_canary"
! grep -q "$canary" "$T/output" || fail 'the canary was read'
expect 1 '' brainbox run -q -- printenv DEMO_TOKEN
! grep -q "$canary" "$T/output" || fail 'the token was passed on'

title 'It writes nothing outside'
refused write "$T/outside/file"
[ "$(cat "$T/outside/file")" = written ] || fail 'control: the file is not what the control wrote'
rm "$T/outside/file"
expect 1 'refused:' brainbox run -q -- ./try.bin write "$T/outside/file"
expect 1 'refused:' brainbox run -q -- ./try.bin write "$T/home/.bashrc"
[ ! -e "$T/outside/file" ] && [ ! -e "$T/home/.bashrc" ] || fail 'a file was made outside'

title 'It has no network, and signals nobody'
mkfifo "$T/hold"
./try.bin listen <"$T/hold" >"$T/address" &
listener=$!
exec 9>"$T/hold"
until [ -s "$T/address" ]; do kill -0 "$listener" || fail 'control: no listener'; done
refused connect "$(cat "$T/address")"
refused signal "$listener"

title 'brainbox says why, from the plan that the kernel was told'
expect 1 denied brainbox why write "$T/outside/file"
expect 1 denied brainbox why read "$T/home/.ssh/id_canary"
expect 0 allowed brainbox why write ./report
expect 1 denied brainbox why connect 443
expect 1 denied brainbox why env DEMO_TOKEN
brainbox check -- ./try.bin read text >"$T/output" || fail 'check does not start what run starts'
grep -v '^  ' "$T/output" | sed "s|$T|…|g; s/^/    /"

title 'A grant widens exactly what it names'
expect 0 '' brainbox run -q --rw "$T/outside" -- ./try.bin write "$T/outside/file"
[ "$(cat "$T/outside/file")" = written ] || fail 'the grant does not work'
expect 1 'refused:' brainbox run -q --rw "$T/outside" -- ./try.bin read "$T/home/.ssh/id_canary"

title 'Exit statuses are the program'\''s own, or say who ended it'
expect 7 '' brainbox run -q -- sh -c 'exit 7'
# shellcheck disable=SC2016 # the inner shell expands it
expect 143 '' brainbox run -q -- sh -c 'kill -TERM $$'
expect 124 '' brainbox run -q --timeout 300ms -- sleep 60
expect 127 'brainbox: ' brainbox run -q -- ./no-such-program
expect 126 'brainbox: ' brainbox run -q -- ./text
expect 125 'brainbox: hint: ' brainbox run -q --rw / -- true

title 'What a run leaves running ends with it'
alive() { # TIME: whether a process that sleeps so long is there; its number inside says nothing
	grep -qsa "sleep.$1" /proc/[0-9]*/cmdline
}
time=300.$$
sleep $time & alone=$!
until alive $time; do sleep 0.01; done # control: it would be found
kill $alone && { wait $alone || :; }
expect 0 '' brainbox run -q -- sh -c "setsid sleep $time & sleep 0.1"
! alive $time || fail 'a process outlived its run'

title 'A backend starts its programs through brainbox-exec: no flags, the same process'
cat >"$T/exec.toml" <<EOF
version = 1
extends = ["default"]
[sandbox]
tmp_root = "$T/exec"
EOF
# with_exec_policy COMMAND...: the wrapper's policy must lie where only root, or
# an ordinary user for himself, can write. Root gets an /etc of its own for it.
with_exec_policy() {
	if [ "$(id -u)" = 0 ]; then
		# shellcheck disable=SC2016
		unshare -m sh -euc 'mount -t tmpfs tmpfs "$0/layer"
			mkdir "$0/layer/up" "$0/layer/work"
			mount -t overlay overlay -o "lowerdir=/etc,upperdir=$0/layer/up,workdir=$0/layer/work" /etc
			mkdir -p /etc/brainbox
			cp "$0/exec.toml" /etc/brainbox/exec.toml
			exec "$@"' "$T" "$@"
	else
		cp "$T/exec.toml" "$own/exec.toml"
		BRAINBOX_EXEC_POLICY="$own/exec.toml" "$@"
	fi
}
mkdir "$T/layer" "$T/exec"
chmod 0755 "$T" "$T/exec"
[ "$(id -u)" = 0 ] || own=$(mktemp -d "${run:-$realhome}/.brainbox-demo-XXXXXX")
place=yes
with_exec_policy true 2>"$T/output" || place=no
[ $place = no ] || with_exec_policy brainbox-exec "$PWD/try.bin" read text >"$T/output" 2>&1 ||
	! grep -q 'not writable by others' "$T/output" || place=no
if [ $place = yes ]; then
	with_exec_policy ./try.bin read "$T/home/.ssh/id_canary" >/dev/null || fail 'control: try read'
	expect 1 'refused:' with_exec_policy brainbox-exec "$PWD/try.bin" read "$T/home/.ssh/id_canary"
	expect 0 'Apache License' with_exec_policy brainbox-exec "$(command -v head)" -n 3 text
	# shellcheck disable=SC2016
	expect 0 '' with_exec_policy sh -c 'echo $$; exec brainbox-exec /bin/sh -c "echo \$\$"'
	[ "$(sort -u "$T/output" | wc -l)" = 1 ] || fail 'the program is another process than its wrapper'
else
	printf 'demo: not shown here, for want of a place for its policy: %s\n' "$(cat "$T/output")"
fi

title 'Nothing is left behind'
left=$(find "$T/tmp" -mindepth 2 ! -name '*.lock' | sed "s|$T|…|")
[ -z "$left" ] || fail "left in the temporary folder: $left"
[ "$(git status --short | tr -d '\n')" = '?? report' ] || fail "the checkout has changed: $(git status --short)"
[ "$(find "$T/home" -type f)" = "$T/home/.ssh/id_canary" ] || fail "the home has changed: $(find "$T/home")"
echo 'demo: every outcome was as it should be'
