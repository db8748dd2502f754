# bash completion for brainbox(1), brainbox-exec(8) and brainbox-kill(8).
# A test of the command compares the words here with the flags it has.

_brainbox_verbs='run check why learn probe policy events approve version call write edit mask rm mv mcp'
_brainbox_policy_verbs='show validate compile export'
_brainbox_flags_policy='--policy --profile --ro --rox --rw --rwx --protect --deny --no-protect
	--env --env-file --connect-tcp --bind-tcp --publish --allow-host --unix --allow-degraded
	--net --dns --resolver --seccomp --isolation --home --cwd --timeout --kill-after --memory --cpu --pids
	--nofile --fsize --output-limit --git-config --keep-created --bridge --gate --ask --help'
_brainbox_flags_learn="${_brainbox_flags_policy/--bridge --gate --ask/} --output -o --force --no-verify --quiet -q"
_brainbox_flags_run="$_brainbox_flags_policy --pass-fd --status-fd --dry-run --explain --sanitize
	--quiet -q --verbose -v"
_brainbox_flags_check="$_brainbox_flags_policy --json --exec --tree"
_brainbox_flags_why="$_brainbox_flags_policy --json --verify"
_brainbox_flags_probe='--json --help'
_brainbox_flags_events='--session --socket --json --since --follow -f --audit --verify --head --help'
_brainbox_flags_approve='--session --socket --json --list --deny --grants --revoke --hold --help'
_brainbox_flags_validate='--diff --json --help'
_brainbox_flags_show="$_brainbox_flags_policy"
_brainbox_flags_export="$_brainbox_flags_policy --to --rootfs --terminal --allow-gap"
_brainbox_flags_call='--output --help'
_brainbox_flags_write='--root --base --append --create --json --help'
_brainbox_flags_edit='--root --base --files --json --help'
_brainbox_flags_mask='--root --instruction --json --help'
_brainbox_flags_rm='--root --base --recursive -r --json --help'
_brainbox_flags_mv='--root --replace -f --json --help'
_brainbox_operations='read write exec create remove rename connect bind unix host env syscall tool'
_brainbox_profiles='debug default go minimal node offline-build python readonly rust'
_brainbox_gaps='bridge deny env files gate hosts ipc network output protect seccomp time unix'
_brainbox_clauses='files protect deny metadata network hosts unix ipc shared_memory processes tree pids
	memory cpu time output nofile fsize core env seccomp capabilities'

# _brainbox_value FLAG CUR: completes the value of a flag; 1 when it takes none.
_brainbox_value() {
	case $1 in
	--policy | --ro | --rox | --rw | --rwx | --protect | --deny | --no-protect | --env-file | --unix | --bridge | --gate | --socket | --audit | \
		--output | -o)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		;;
	--cwd | --rootfs)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$2")
		;;
	--home)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -W 'run keep' -- "$2"; compgen -d -- "$2")
		;;
	--seccomp)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -W 'default debug none' -- "$2"; compgen -f -- "$2")
		;;
	--profile) mapfile -t COMPREPLY < <(compgen -W "$_brainbox_profiles" -- "$2") ;;
	--net) mapfile -t COMPREPLY < <(compgen -W 'none ports proxy host' -- "$2") ;;
	--dns) mapfile -t COMPREPLY < <(compgen -W 'none host' -- "$2") ;;
	--isolation) mapfile -t COMPREPLY < <(compgen -W 'auto landlock namespaces' -- "$2") ;;
	--allow-degraded) mapfile -t COMPREPLY < <(compgen -W "$_brainbox_clauses" -- "$2") ;;
	--allow-gap) mapfile -t COMPREPLY < <(compgen -W "$_brainbox_gaps" -- "$2") ;;
	--to) mapfile -t COMPREPLY < <(compgen -W 'oci seccomp' -- "$2") ;;
	--env) mapfile -t COMPREPLY < <(compgen -e -- "$2") ;;
	--connect-tcp | --bind-tcp | --publish | --allow-host | --resolver | --timeout | --kill-after | --memory | --cpu | --pids | \
		--nofile | --fsize | --output-limit | --pass-fd | --status-fd | --since | --head | --deny | --revoke | --hold | --root | --base | --instruction) COMPREPLY=() ;;
	--session) mapfile -t COMPREPLY < <(compgen -W "$(ls "${XDG_RUNTIME_DIR:-/nonexistent}/brainbox" 2>/dev/null)" -- "$2") ;;
	*) return 1 ;;
	esac
}

# _brainbox_command INDEX: hands over to the completion of the program there.
_brainbox_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" = "$1" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		compopt -o default
	fi
}

_brainbox() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} i flags
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$_brainbox_verbs --help" -- "$cur")
		return
	fi
	if [ "$verb" = policy ]; then
		if [ "$COMP_CWORD" = 2 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$_brainbox_policy_verbs --help" -- "$cur")
			return
		fi
		verb=${COMP_WORDS[2]}
	fi
	case $verb in
	run | check | learn | export)
		for ((i = 2; i < COMP_CWORD; i++)); do
			if [ "${COMP_WORDS[i]}" = -- ]; then
				_brainbox_command $((i + 1))
				return
			fi
		done
		;;
	approve) # denies by an id, not a path
		[ "$prev" != --deny ] || return 0
		;;
	esac
	flags=_brainbox_flags_$verb
	if [ -n "${!flags-}" ]; then
		_brainbox_value "$prev" "$cur" && return
		case $cur in
		-*)
			mapfile -t COMPREPLY < <(compgen -W "${!flags}" -- "$cur")
			return
			;;
		esac
	fi
	case $verb in
	run | check | learn | export) mapfile -t COMPREPLY < <(compgen -W '--' -- "$cur") ;;
	why)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -W "$_brainbox_operations" -- "$cur"; compgen -f -- "$cur")
		;;
	validate | compile | events | write | edit | mask | rm | mv)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	esac
}

_brainbox_exec() {
	_brainbox_command 1
}

_brainbox_kill() {
	COMPREPLY=()
	case $COMP_CWORD in
	1) mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pgid= 2>/dev/null | sort -un)" -- "${COMP_WORDS[1]}") ;;
	2) mapfile -t COMPREPLY < <(compgen -W 'TERM KILL INT' -- "${COMP_WORDS[2]}") ;;
	esac
}

complete -F _brainbox brainbox
complete -F _brainbox_exec brainbox-exec
complete -F _brainbox_kill brainbox-kill
