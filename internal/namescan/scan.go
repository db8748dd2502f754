package namescan

// DefaultMax is how many names are read when [Options] says nothing else.
const DefaultMax = 100_000

// Options says what to look for. The zero value looks for repositories and sockets.
type Options struct {
	Max   int      // names at most; 0: [DefaultMax]
	Names []string // clean relative paths to look for
	Skip  []string // clean relative paths of folders that are not entered
	Flat  bool     // read the folder itself and nothing below it
	All   bool     // report every name in Result.Names; Names is not used
}

// Kind is what kind of entry a name is, as getdents64(2) says it.
type Kind uint8

// The kinds. Other is a device, a FIFO, or what could not be told.
const (
	Other Kind = iota
	File
	Folder
	Link
	Socket
)

// String returns the word for k.
func (k Kind) String() string {
	return [...]string{"other", "file", "folder", "link", "socket"}[k]
}

// Found is one entry, by its path relative to the folder that was scanned.
type Found struct {
	Path string
	Kind Kind
}

// Result is what a scan found, in the order in which it was read.
type Result struct {
	Git     []Found  // everything that is named .git
	Sockets []string // everywhere
	Names   []Found  // those of Options.Names that exist, or all
	Unsure  []string // those of Options.Names of which the scan cannot say whether they exist
	Mounts  []string // folders with something else mounted on them: not entered
	Unread  []string // folders that could not be read

	Count   int    // names read
	Partial bool   // Max was reached
	Stopped string // with Partial: the first folder that was not read to its end; "." is the top
}
