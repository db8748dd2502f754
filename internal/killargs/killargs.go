package killargs

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// PidMaxLimit is the highest value that /proc/sys/kernel/pid_max can take on a
// 64-bit kernel (proc(5)).
const PidMaxLimit = 1 << 22

// minPGID keeps out 0 (the caller's own group) and 1 (init's group; after
// negation kill(2) reads it as "every process").
const minPGID = 2

// maxDigits is the length of PidMaxLimit in decimal: nothing longer is read, so
// no number can wrap round (contract brainkit H2).
const maxDigits = 7

// Request is one checked call of the killer.
type Request struct {
	PGID   int         // process group, 2 ≤ PGID ≤ pid_max
	Signal unix.Signal // SIGTERM, SIGKILL or SIGINT
}

// Parse reads the arguments that follow the program's name (contract brainkit
// §1.6, vectors P3 to P7). pidMax is the value of /proc/sys/kernel/pid_max; a
// value outside 2..PidMaxLimit counts as PidMaxLimit. The error is one line
// without the program's name.
func Parse(args []string, pidMax int) (Request, error) {
	if len(args) != 2 {
		return Request{}, errors.New("want exactly two arguments, PGID and a signal, not " + strconv.Itoa(len(args)))
	}
	pgid, err := parsePGID(args[0], pidMax)
	if err != nil {
		return Request{}, err
	}
	sig, err := parseSignal(args[1])
	if err != nil {
		return Request{}, err
	}
	return Request{PGID: pgid, Signal: sig}, nil
}

func parsePGID(text string, pidMax int) (int, error) {
	if pidMax < minPGID || pidMax > PidMaxLimit {
		pidMax = PidMaxLimit
	}
	refused := func(why string) (int, error) {
		return 0, errors.New("process group " + strconv.Quote(clip(text)) + " " + why)
	}
	if text == "" || text[0] < '1' || text[0] > '9' {
		return refused("is not a plain decimal number")
	}
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return refused("is not a plain decimal number")
		}
		if i >= maxDigits {
			return refused("is above pid_max")
		}
		n = n*10 + int(text[i]-'0')
	}
	if n < minPGID {
		return refused("is below 2")
	}
	if n > pidMax {
		return refused("is above pid_max, " + strconv.Itoa(pidMax))
	}
	return n, nil
}

func parseSignal(word string) (unix.Signal, error) {
	switch word {
	case "TERM":
		return unix.SIGTERM, nil
	case "KILL":
		return unix.SIGKILL, nil
	case "INT":
		return unix.SIGINT, nil
	}
	return 0, errors.New("signal " + strconv.Quote(clip(word)) + " is not TERM, KILL or INT")
}

// clip keeps a message one short line whatever was passed.
func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
