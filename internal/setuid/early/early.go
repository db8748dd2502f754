//go:build amd64 || arm64

package early

import "unsafe" // imports nothing: see the package comment

// rawCall makes one system call on the calling thread. Its answer is the kernel's: the
// negative number of an error.
//
//go:noescape
func rawCall(nr, a1, a2, a3, a4, a5 uintptr) (r uintptr)

//go:linkname runtimeAuxv runtime.getAuxv
func runtimeAuxv() []uintptr

// beforeExec keeps the runtime from making threads while execve(2) ends the others
// (go.dev/issue/19546).
//
//go:linkname beforeExec syscall.runtime_BeforeExec
func beforeExec()

// block is what the kernel put on the stack at execve(2).
type block struct {
	argv  uintptr // address of the pointers to the arguments
	env   []uintptr
	found bool
}

// secure is AT_SECURE. More is looked for only where it is set: every start pays for this.
var secure = isSecure(runtimeAuxv())

// isSecure counts a vector without an answer as secure.
func isSecure(aux []uintptr) bool {
	const atSecure = 23 // getauxval(3)
	for i := 0; i+1 < len(aux); i += 2 {
		if aux[i] == atSecure {
			return aux[i+1] != 0
		}
	}
	return true
}

//go:linkname iscgo runtime.iscgo
var iscgo bool

// altered reports whether something ran before the runtime that changes what the kernel put on
// the stack: a dynamic loader, also of a position-independent program, or a C library. Both
// take variables out of the environment of a secure start, TMPDIR among them (ld.so(8)).
func altered(aux []uintptr) bool {
	const atBase = 7 // AT_BASE, getauxval(3): where the loader is
	for i := 0; i+1 < len(aux); i += 2 {
		if aux[i] == atBase && aux[i+1] != 0 {
			return true
		}
	}
	return iscgo
}

// maxStrings bounds how many pointers are looked at; the kernel's own limit for the strings
// (execve(2), 3/4 of 8 MiB) is below what as many would take.
const maxStrings = 1 << 22

// find walks down from the auxiliary vector: argc, the arguments, a null, the environment,
// a null, the vector. That argc counts what stands above it is what proves the place.
func find(aux []uintptr) block {
	var b block
	if len(aux) == 0 {
		return b
	}
	word := func(n int) uintptr {
		return *(*uintptr)(unsafe.Add(unsafe.Pointer(&aux[0]), -n*int(unsafe.Sizeof(aux[0]))))
	}
	if word(1) != 0 {
		return b
	}
	env := 0
	for ; word(2+env) != 0; env++ {
		if env == maxStrings {
			return b
		}
	}
	args := 0
	for ; word(3+env+args) != uintptr(args); args++ {
		if args == maxStrings || word(3+env+args) == 0 { // no argument is null
			return b
		}
	}
	b.argv = uintptr(unsafe.Pointer(&aux[0])) - uintptr(2+env+args)*unsafe.Sizeof(aux[0])
	for i := range env {
		b.env = append(b.env, word(1+env-i))
	}
	b.found = true
	return b
}

// Secure reports whether the kernel raised something at execve(2) (AT_SECURE, getauxval(3)).
// Without an answer it did.
func Secure() bool { return secure }

// Environ is the caller's environment, every string as the kernel has it, in its order. Of a
// secure start it is unquoted.
func Environ() []string {
	env := find(runtimeAuxv()).env
	list := make([]string, 0, len(env))
	for _, p := range env {
		s := text(p)
		if secure {
			s = Unquote(s)
		}
		list = append(list, s)
	}
	return list
}

// text copies a string of C.
func text(at uintptr) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // memory of the kernel's making: it stays
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// Restart executes the program once more if the start is secure and a string of its
// environment begins with GO: with the environment quoted, or with none. Irreversible. It
// acts on the process, and ends it with status 126 and one line where that cannot be done.
// The process is made undumpable (PR_SET_DUMPABLE) in every secure start.
func Restart(name string, quote bool) struct{} {
	if !secure {
		return struct{}{}
	}
	const setDumpable = 4 // PR_SET_DUMPABLE: with fs.suid_dumpable 1 it would be the caller's to trace
	rawCall(sysPrctl, setDumpable, 0, 0, 0, 0)
	if altered(runtimeAuxv()) {
		end(name, "a set-uid start needs a static build without cgo: CGO_ENABLED=0, and no -buildmode=pie")
	}
	start := find(runtimeAuxv())
	if !start.found {
		end(name, "the kernel's arguments are not where they should be")
	}
	env := make([]string, 0, len(start.env)) // as it came
	for _, p := range start.env {
		env = append(env, text(p))
	}
	if !hasGo(env) {
		return struct{}{}
	}
	list := []*byte{}
	if quote {
		for _, s := range env {
			list = append(list, bytes(Quote(s)))
		}
	}
	list = append(list, nil)
	beforeExec()
	r := rawCall(sysExecve, uintptr(unsafe.Pointer(bytes("/proc/self/exe"))), start.argv, uintptr(unsafe.Pointer(&list[0])), 0, 0)
	end(name, "variables beginning with GO cannot be removed: execve /proc/self/exe: error "+decimal(-r))
	return struct{}{}
}

// end is the only way out of here: nothing may be deferred or printed by a package that has
// not started. The line is written with the caller's rights.
func end(name, why string) {
	uid := rawCall(sysGetuid, 0, 0, 0, 0, 0)
	if rawCall(sysSetresuid, uid, uid, uid, 0, 0) != 0 {
		why = ""
	}
	line := name + ": " + why + "\n"
	if why == "" {
		rawCall(sysExitGroup, 126, 0, 0, 0, 0)
	}
	rawCall(sysWrite, 2, uintptr(unsafe.Pointer(unsafe.StringData(line))), uintptr(len(line)), 0, 0)
	for {
		rawCall(sysExitGroup, 126, 0, 0, 0, 0)
	}
}

func bytes(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

func decimal(n uintptr) string {
	s := ""
	for ; n > 9; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return string(rune('0'+n)) + s
}
