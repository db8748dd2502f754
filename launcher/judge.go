package launcher

import "syscall"

// Op is a kind of operation that a plan can be asked about.
type Op uint8

// The operations. Each is what one system call wants of the file system or of the network.
const (
	OpRead     Op = iota // open a file for reading, or list a folder
	OpWrite              // open a file for writing
	OpTruncate           // truncate(2), O_TRUNC
	OpExec               // execute a file: Operation.Path is the very file, each interpreter is one more
	OpCreate             // make what is not there, of Operation.Kind
	OpRemove             // unlink(2), rmdir(2)
	OpRename             // Operation.Path becomes Operation.Dest
	OpLink               // Operation.Path gets the further name Operation.Dest
	OpConnect            // TCP, to Operation.Port
	OpBind               // TCP, Operation.Port
	OpUnix               // connect(2) to the Unix socket Operation.Path
	OpSyscall            // a system call that no path or address decides about
)

// FileKind is what is at a path, or is to be made there.
type FileKind uint8

// The kinds of files (inode(7)).
const (
	KindAbsent FileKind = iota
	KindRegular
	KindFolder
	KindLink
	KindSocket
	KindFIFO
	KindChar
	KindBlock
)

// Operation is a question to a plan. Paths are the program's, resolved: no component is a
// link, but for the last one of what is not followed, and that of what does not exist.
type Operation struct {
	Op   Op
	Path string
	Dest string   // of OpRename and OpLink
	Kind FileKind // of what is at Path; of OpCreate: of what is made
	Over FileKind // of OpRename: what is at Dest, and is replaced
	Port uint16   // of OpConnect and OpBind
	Call string   // of OpSyscall: its name; of socket(2) what SocketCall gives, if the arguments are known
}

// Verdict is the answer to an operation.
type Verdict uint8

// The verdicts. The zero value is the one that promises nothing.
const (
	Undecided Verdict = iota
	Allowed
	Refused
)

// Judgement is what a plan says of an operation.
type Judgement struct {
	Verdict Verdict
	Right   string        // that is needed and missing, in the kernel's words: "read_file", "make_reg", "refer"; or "connect_tcp", "bind_tcp"
	Place   string        // where it is missing: the file, or the folder that holds it
	Errno   syscall.Errno // of a refused operation, as far as it is known; 0: not known
	Clause  string        // that decides
	Entry   *Entry        // that allows it, or that forbids it although another grants it; nil: none
	Reason  string        // a sentence without a stop at its end
	Remedy  Remedy
}

// Remedy is what would allow a refused operation. The zero value: nothing would.
type Remedy struct {
	Flag string // for a shell: "--rw /srv/data"
	Line string // for a policy file: `write = ["/srv/data"]` with its section before it
	Note string // what the operator should know besides
	// Risk is what else the program could do then, a word of the infinitive first: "change what
	// shells run". Nobody should take such a remedy over unread. "": nothing is known of it.
	Risk string
}
