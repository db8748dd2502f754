# fish completion for brainbox(1), brainbox-exec(8) and brainbox-kill(8).
# Written from the command's own table of verbs and flags:
#   go test ./cmd/brainbox -run TestCompletionsAreWritten -update

# The verb on the command line: run, or policy-show for one below policy.
function __brainbox_verb
    set -l typed (commandline -opc)
    if test "$typed[2]" = policy; and set -q typed[3]
        echo policy-$typed[3]
    else if set -q typed[2]
        echo $typed[2]
    else
        echo none
    end
end

# Whether the verb is one of the arguments.
function __brainbox_is
    contains -- (__brainbox_verb) $argv
end

# Whether the verb is one of the arguments and no -- stands before what is typed.
function __brainbox_before
    __brainbox_is $argv; and not contains -- -- (commandline -opc)
end

# Whether the verb is one of the arguments and a -- stands before what is typed.
function __brainbox_behind
    __brainbox_is $argv; and contains -- -- (commandline -opc)
end

# Whether no operation of brainbox why has been typed.
function __brainbox_no_operation
    __brainbox_is why; or return 1
    for word in (commandline -opc)
        contains -- $word $__brainbox_operations; and return 1
    end
    return 0
end

# Completes the program, and what belongs to it, behind the word of that number.
function __brainbox_program
    set -l typed (commandline -opc)
    set -l at $argv[1]
    if test $at = --
        set at (contains -i -- -- $typed)
    end
    set -e typed[1..$at]
    complete -C (string join -- ' ' (string escape -- $typed) (commandline -ct))
end

function __brainbox_sessions
    set -q XDG_RUNTIME_DIR; and command ls $XDG_RUNTIME_DIR/brainbox 2>/dev/null
end

function __brainbox_env
    set -nx
end

set -g __brainbox_operations read write exec create remove rename connect bind unix host env syscall tool

# Verbs. Files are offered only where they are meant.
complete -c brainbox -f
complete -c brainbox -l help -d 'show help'
complete -c brainbox -n '__brainbox_is none' -a run -d 'run COMMAND confined, supervised'
complete -c brainbox -n '__brainbox_is none' -a check -d 'print what each entry becomes; start nothing'
complete -c brainbox -n '__brainbox_is none' -a why -d 'say whether an operation is allowed, and by which entry'
complete -c brainbox -n '__brainbox_is none' -a learn -d 'draft a policy by watching COMMAND, and run it again under that'
complete -c brainbox -n '__brainbox_is none' -a probe -d 'say what this kernel and place offer, by trying'
complete -c brainbox -n '__brainbox_is none' -a policy -d 'show, validate, compile or export a policy'
complete -c brainbox -n '__brainbox_is policy' -a show -d 'print the merged policy, with where each value came from'
complete -c brainbox -n '__brainbox_is policy' -a validate -d 'check policies and seccomp profiles; print every error'
complete -c brainbox -n '__brainbox_is policy' -a compile -d 'compile an OCI seccomp profile and print the filter'
complete -c brainbox -n '__brainbox_is policy' -a export -d 'print the policy for an OCI runtime, or its filter for docker'
complete -c brainbox -n '__brainbox_is none' -a version -d 'print the version'
complete -c brainbox -n '__brainbox_is none' -a events -d 'follow what is decided in a running session, or read the audit file'
complete -c brainbox -n '__brainbox_is none' -a approve -d 'answer the prompts of a running session on this terminal'
complete -c brainbox -n '__brainbox_is none' -a call -d 'from inside: call a tool of the host'
complete -c brainbox -n '__brainbox_is none' -a write -d 'from inside: have the host write standard input to a file'
complete -c brainbox -n '__brainbox_is none' -a edit -d 'from inside: have the host replace one text in a file'
complete -c brainbox -n '__brainbox_is none' -a mask -d 'from inside: have a person paint a mask over an image'
complete -c brainbox -n '__brainbox_is none' -a rm -d 'from inside: have the host remove a file or folder'
complete -c brainbox -n '__brainbox_is none' -a mv -d 'from inside: have the host rename a file or folder'
complete -c brainbox -n '__brainbox_is none' -a mcp -d 'from inside: offer the host\'s tools as an MCP server on stdio'

# What is no flag.
complete -c brainbox -n '__brainbox_before run check learn policy-export' -a -- -d 'the program follows'
complete -c brainbox -n '__brainbox_behind run check learn policy-export' -a '(__brainbox_program --)'
complete -c brainbox -n __brainbox_no_operation -a "$__brainbox_operations" -d operation
complete -c brainbox -n '__brainbox_is why policy-validate policy-compile events write edit mask rm mv' -F

# Flags of run, check, why, learn, policy show, policy export.
set -l on -n '__brainbox_is run check why learn policy-show policy-export'
complete -c brainbox $on -l policy -rF -d 'policy FILE (also $BRAINBOX_POLICY)'
complete -c brainbox $on -l profile -x -a 'debug default go minimal node offline-build python readonly rust' -d 'built-in profile NAME to start from'
complete -c brainbox $on -l ro -rF -d 'grant reading'
complete -c brainbox $on -l rox -rF -d 'grant reading and executing'
complete -c brainbox $on -l rw -rF -d 'grant reading and writing'
complete -c brainbox $on -l rwx -rF -d 'grant reading, writing and executing'
complete -c brainbox $on -l protect -rF -d 'keep read-only inside a write grant'
complete -c brainbox $on -l deny -rF -d 'hide, whatever grants it'
complete -c brainbox $on -l no-protect -rF -d 'insist on a write grant that would be refused'
complete -c brainbox $on -l env -x -a '(__brainbox_env)' -d 'pass a variable on, or set it'
complete -c brainbox $on -l env-file -rF -d 'variables from a file, one NAME=VALUE a line'
complete -c brainbox $on -l connect-tcp -x -d 'with --net ports: connect to this port of any host'
complete -c brainbox $on -l bind-tcp -x -d 'with --net ports: bind to this port'
complete -c brainbox $on -l publish -x -d 'reach a port of the program from the host\'s loopback'
complete -c brainbox $on -l allow-host -x -d 'with --net proxy: reach this host'
complete -c brainbox $on -l unix -rF -d 'connect to this Unix socket'
complete -c brainbox $on -l allow-degraded -x -a 'files protect deny metadata network hosts unix ipc shared_memory processes tree pids memory cpu time output nofile fsize core env seccomp capabilities' -d 'accept that this clause stays open'
complete -c brainbox $on -l net -x -a 'none ports proxy host' -d 'none, ports, proxy or host'
complete -c brainbox $on -l resolver -x -d 'with --net proxy: the DNS server that looks names up, not the host\'s'
complete -c brainbox $on -l dns -x -a 'none host' -d 'with --net ports: none, or host (opens UDP)'
complete -c brainbox $on -l seccomp -rF -a 'default debug none' -d 'default, debug, none, or an OCI profile FILE'
complete -c brainbox $on -l isolation -x -a 'auto landlock namespaces' -d 'auto, landlock or namespaces'
complete -c brainbox $on -l home -x -a 'run keep (__fish_complete_directories (commandline -ct) "")' -d 'run, keep, or a folder'
complete -c brainbox $on -l cwd -x -a '(__fish_complete_directories (commandline -ct) "")' -d 'start the program here'
complete -c brainbox $on -l timeout -x -d 'end the run after this time, with status 124'
complete -c brainbox $on -l kill-after -x -d 'time from TERM to KILL (5s)'
complete -c brainbox $on -l memory -x -d 'memory of the whole tree (cgroup v2)'
complete -c brainbox $on -l cpu -x -d 'processors for the whole tree (cgroup v2)'
complete -c brainbox $on -l pids -x -d 'processes and threads of the whole tree (cgroup v2)'
complete -c brainbox $on -l nofile -x -d 'open descriptors of each process'
complete -c brainbox $on -l fsize -x -d 'size of each file written'
complete -c brainbox $on -l output-limit -x -d 'bytes of output before the run is ended'
complete -c brainbox $on -l git-config -d 'let the program change .git/config'
complete -c brainbox $on -l keep-created -d 'leave protected files that the program made'

# Flags of run, check, why, policy show, policy export.
set -l on -n '__brainbox_is run check why policy-show policy-export'
complete -c brainbox $on -l gate -rF -d 'what may be called, JSON permissions or TOML with [gate], from FILE'
complete -c brainbox $on -l bridge -rF -d 'let the program call the host\'s tools of the envelope FILE'
complete -c brainbox $on -l ask -d 'let the program ask for leave, and ask for it on this terminal'

# Flags of run.
set -l on -n '__brainbox_is run'
complete -c brainbox $on -l pass-fd -x -d 'hand descriptor N[:w] to the program'
complete -c brainbox $on -l status-fd -x -d 'write status lines, JSON, to descriptor N'
complete -c brainbox $on -l dry-run -d 'print the plan and start nothing (= check)'
complete -c brainbox $on -l explain -d 'watch the program, and say at its end what was denied and what would allow it'
complete -c brainbox $on -l sanitize -d 'show control characters in the output as text'
complete -c brainbox $on -l quiet -s q -d 'say nothing of what stays open'
complete -c brainbox $on -l verbose -s v -d 'say what stays open'

# Flags of check.
set -l on -n '__brainbox_is check'
complete -c brainbox $on -l json -d 'print the plan as JSON'
complete -c brainbox $on -l exec -d 'print the plan of brainbox-exec'
complete -c brainbox $on -l tree -d 'walk the write grants for hard links, set-id files and sockets'

# Flags of why.
set -l on -n '__brainbox_is why'
complete -c brainbox $on -l json -d 'print the answer as JSON'
complete -c brainbox $on -l verify -d 'ask the kernel too, in a sandbox that starts nothing'

# Flags of learn.
set -l on -n '__brainbox_is learn'
complete -c brainbox $on -l output -s o -rF -d 'write the policy to FILE; - is standard output'
complete -c brainbox $on -l force -d 'replace FILE if it is there'
complete -c brainbox $on -l no-verify -d 'do not run COMMAND again under the policy'
complete -c brainbox $on -l quiet -s q -d 'say nothing but what went wrong'

# Flags of probe.
set -l on -n '__brainbox_is probe'
complete -c brainbox $on -l json -d 'print the answers as JSON'

# Flags of policy validate.
set -l on -n '__brainbox_is policy-validate'
complete -c brainbox $on -l diff -d 'list every call that a profile and the default filter answer differently'
complete -c brainbox $on -l json -d 'print the findings as JSON, one object a file'

# Flags of policy export.
set -l on -n '__brainbox_is policy-export'
complete -c brainbox $on -l to -x -a 'oci seccomp' -d 'FORM: oci, or seccomp'
complete -c brainbox $on -l rootfs -x -a '(__fish_complete_directories (commandline -ct) "")' -d 'with --to oci: the root file system in DIR'
complete -c brainbox $on -l terminal -d 'with --to oci: the runtime gives the program a terminal'
complete -c brainbox $on -l allow-gap -x -a 'bridge deny env files gate hosts ipc network output protect seccomp time unix' -d 'accept that entries of CLAUSE are not held'

# Flags of events, approve.
set -l on -n '__brainbox_is events approve'
complete -c brainbox $on -l session -x -a '(__brainbox_sessions)' -d 'the ID of the session, 8 hexadecimal digits; needed if several run'
complete -c brainbox $on -l socket -rF -d 'the session\'s ui.sock, a PATH, in place of its ID'
complete -c brainbox $on -l json -d 'print JSON, one object a line'

# Flags of events.
set -l on -n '__brainbox_is events'
complete -c brainbox $on -l since -x -d 'begin behind event number N (0: with the oldest that is kept)'
complete -c brainbox $on -l follow -s f -d 'go on with what comes, until the session ends'
complete -c brainbox $on -l audit -rF -d 'print the lines of an audit FILE'
complete -c brainbox $on -l verify -d 'follow the hash chain of the audit file, or of FILE'
complete -c brainbox $on -l head -x -d 'with --verify: the line with this HASH must be in the file'

# Flags of approve.
set -l on -n '__brainbox_is approve'
complete -c brainbox $on -l list -d 'print what is asked, and answer nothing'
complete -c brainbox $on -l deny -x -d 'deny the prompt with this ID'
complete -c brainbox $on -l grants -d 'print what was approved for longer than once'
complete -c brainbox $on -l revoke -x -d 'take the approval with this ID back'
complete -c brainbox $on -l hold -x -d 'descriptor N that holds the program on this terminal; brainbox run gives it'

# Flags of call.
set -l on -n '__brainbox_is call'
complete -c brainbox $on -l output -d 'print the output alone, a text as it is'

# Flags of write, edit, mask, rm, mv.
set -l on -n '__brainbox_is write edit mask rm mv'
complete -c brainbox $on -l root -x -d 'the NAME of the root that paths are relative to'
complete -c brainbox $on -l json -d 'print the whole result as JSON'

# Flags of write, edit, rm.
set -l on -n '__brainbox_is write edit rm'
complete -c brainbox $on -l base -x -d 'refuse unless the file\'s content has this SHA-256 HASH'

# Flags of write.
set -l on -n '__brainbox_is write'
complete -c brainbox $on -l append -d 'add to the end of a file'
complete -c brainbox $on -l create -d 'refuse if the file exists'

# Flags of edit.
set -l on -n '__brainbox_is edit'
complete -c brainbox $on -l files -d 'OLD and NEW are files that hold the texts'

# Flags of mask.
set -l on -n '__brainbox_is mask'
complete -c brainbox $on -l instruction -x -d 'what to paint over, as a TEXT for the person'

# Flags of rm.
set -l on -n '__brainbox_is rm'
complete -c brainbox $on -l recursive -s r -d 'remove a folder with what is in it'

# Flags of mv.
set -l on -n '__brainbox_is mv'
complete -c brainbox $on -l replace -s f -d 'replace a file that has the new name'

# The other programs.
complete -c brainbox-exec -f -a '(__brainbox_program 1)'
complete -c brainbox-kill -f
complete -c brainbox-kill -n 'test (count (commandline -opc)) = 1' -a '(command ps -eo pgid= 2>/dev/null | string trim | sort -un)' -d 'process group'
complete -c brainbox-kill -n 'test (count (commandline -opc)) = 2' -a 'TERM KILL INT' -d signal
