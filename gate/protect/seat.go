package protect

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/strictjson"
)

// Knob is the setting that replaces the table.
const Knob = "write_protected_paths"

const (
	maxRows = 1024
	maxPart = 255 // bytes (NAME_MAX)
)

// Entry is one configured row. Kind is empty for the short form: a name with a slash is a
// segment-run, any other a segment.
type Entry struct{ Name, Kind string }

// Seat is the place of a replacement table. The zero value selects the default table;
// Set without entries is no table at all; entries replace the table whole, so additions
// are written after a copy of it.
type Seat struct {
	Set     bool
	Entries []Entry
}

// SeatError is a setting that cannot be used.
type SeatError struct {
	Index  int // of the entry, from 0; -1 for the whole
	Reason string
}

// Error names the knob.
func (e *SeatError) Error() string {
	if e.Index < 0 {
		return "protect: " + Knob + ": " + e.Reason
	}
	return fmt.Sprintf("protect: %s, entry %d: %s", Knob, e.Index+1, e.Reason)
}

// ParseSeat reads the JSON form: a list of names, or of objects with name and kind.
func ParseSeat(text []byte) (Seat, error) {
	root, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		return Seat{}, &SeatError{-1, err.Error()}
	}
	if root.Kind != strictjson.KindArray {
		return Seat{}, &SeatError{-1, "a list expected, got " + root.Kind.String()}
	}
	s := Seat{Set: true}
	for i := range root.Items {
		e, err := entryOf(&root.Items[i])
		if err != nil {
			return Seat{}, &SeatError{i, err.Error()}
		}
		s.Entries = append(s.Entries, e)
	}
	_, err = Resolve(s)
	return s, err
}

func entryOf(v *strictjson.Value) (Entry, error) {
	if v.Kind == strictjson.KindString {
		return Entry{Name: v.Text}, nil
	}
	if v.Kind != strictjson.KindObject {
		return Entry{}, fmt.Errorf("a name or an object with name and kind expected, got %s", v.Kind)
	}
	f := strictjson.Bind(v, "name", "kind")
	e := Entry{Name: f.String("name"), Kind: f.Enum("kind", kinds[:]...)}
	return e, f.Err()
}

// Resolve gives the rows that a seat selects, as the judge would use them: also for a
// page of settings. The error is a *[SeatError].
func Resolve(s Seat) ([]Row, error) {
	if !s.Set {
		if len(s.Entries) > 0 {
			return nil, &SeatError{-1, "entries that are not set"} // the caller forgot, and would get another table
		}
		return DefaultTable(), nil
	}
	if len(s.Entries) > maxRows {
		return nil, &SeatError{-1, fmt.Sprintf("more than %d rows", maxRows)}
	}
	rows := make([]Row, 0, len(s.Entries))
	seen := make(map[Row]bool, len(s.Entries))
	for i, e := range s.Entries {
		row, reason := rowOf(e)
		if reason != "" {
			return nil, &SeatError{i, reason}
		}
		if !seen[row] {
			seen[row] = true
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// rowOf judges one entry.
func rowOf(e Entry) (Row, string) {
	row := Row{Name: e.Name}
	kind := slices.Index(kinds[:], e.Kind)
	slash := strings.Contains(e.Name, "/")
	switch {
	case kind >= 0:
		row.Kind = Kind(kind)
	case e.Kind != "":
		return row, "the kind is none of segment, basename, segment-run"
	case slash:
		row.Kind = SegmentRun
	}
	switch {
	case strings.TrimSpace(e.Name) == "":
		return row, "the name is empty"
	case !utf8.ValidString(e.Name):
		return row, "the name is not UTF-8"
	case e.Name == "~" || strings.HasPrefix(e.Name, "~/"):
		return row, "no row has a home: write what follows ~/"
	case strings.HasPrefix(e.Name, "/"):
		return row, "a row is no absolute path: write the names that it ends with"
	case strings.ContainsAny(e.Name, "*?["):
		return row, "a row is literal: * ? [ would protect nothing"
	case strings.ContainsFunc(e.Name, unicode.IsControl):
		return row, "the name has a control character"
	case slash && row.Kind != SegmentRun:
		return row, "a name with a slash is a segment-run"
	}
	for part := range strings.SplitSeq(e.Name, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return row, "the name has an empty part, . or .."
		case len(part) > maxPart:
			return row, fmt.Sprintf("a part is longer than %d bytes", maxPart)
		case len(strip(nil, part)) == 0:
			return row, "a part has only characters that are not seen"
		}
	}
	return row, ""
}
