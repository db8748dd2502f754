package turntemp

// Class is what an operation does to the file system, for the gate.
type Class string

// Classes.
const (
	Read   Class = "read"
	Mutate Class = "mutate"
)

// Operations. Both may be allowed without a question: what they reach is disposable
// and its scope is fixed by the host (contract brainkit §6.2, "Posture").
const (
	OpUsage = "usage"
	OpPurge = "purge"

	UsageClass     = Read
	PurgeClass     = Mutate
	UsageAutoAllow = true
	PurgeAutoAllow = true
)

// LockKey is the key of the lock that a host holds during a call for this turn
// (contract brainkit §6.2, §7.2).
func LockKey(turn string) string { return "turn-temp:" + turn }
