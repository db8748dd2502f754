package show

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Agent returns text that the sandbox wrote for a person: at most [FieldMost] characters in
// at most [AgentRows] rows of at most columns columns, each beginning with [AgentMark].
// Without text there is no row.
func Agent(s string, columns int) []string {
	if s == "" {
		return nil
	}
	rows := wrap(fold(outer(s, mode{lines: true}), FieldMost), max(columns, MinColumns)-len(AgentMark))
	if n := len(rows); n > AgentRows {
		const tail = AgentRows / 3
		const head = AgentRows - tail - 1
		marker := `\{` + strconv.Itoa(n-head-tail) + ` more lines}`
		rows = append(append(append([]string{}, rows[:head]...), marker), rows[n-tail:]...)
	}
	for i, r := range rows {
		rows[i] = AgentMark + r
	}
	return rows
}

// Rows breaks text that this package made into rows of at most columns columns, each
// beginning with mark, which is ours. An empty text is one row.
func Rows(mark, shown string, columns int) []string {
	var all []cell
	for _, r := range shown {
		all = append(all, cell{text: string(r), source: 1})
	}
	rows := wrap(all, max(max(columns, MinColumns)-len(mark), MinColumns/2))
	for i, r := range rows {
		rows[i] = mark + r
	}
	return rows
}

// wrap makes rows, broken behind a blank where there is one in their second half. A
// terminal that broke a row by itself would put its rest at the start of the next one,
// where only our own marks may stand. What is drawn on the character before it stays with
// that: at the start of a row it would change our mark.
func wrap(all []cell, columns int) []string {
	var rows []string
	row := ""
	used := 0
	for _, c := range all {
		if c.end {
			rows, row, used = append(rows, row), "", 0
			continue
		}
		for _, r := range c.text {
			if used+width(r) > columns {
				at := split(row, r)
				rows, row, used = append(rows, row[:at]), row[at:], 0
				for _, r := range row {
					used += width(r)
				}
			}
			row, used = row+string(r), used+width(r)
		}
	}
	return append(rows, row)
}

// split says where a full row is broken, for what comes next.
func split(row string, next rune) int {
	if at := strings.LastIndexByte(row, ' ') + 1; at > len(row)/2 {
		return at
	}
	at := len(row)
	for joins(next) && at > 0 {
		var n int
		next, n = utf8.DecodeLastRuneInString(row[:at])
		at -= n
	}
	return at
}

// width is the most columns that a character may take.
func width(r rune) int {
	if r >= utf8.RuneSelf {
		return 2
	}
	return 1
}
