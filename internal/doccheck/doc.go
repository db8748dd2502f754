// Package doccheck has no code of its own: its tests hold the documents to the tests
// that they name.
//
//	go test ./internal/doccheck           every named test, file and link exists
//	go test ./internal/doccheck -update   writes the table of docs/spec-conformance.md
//
// A vector of a contract, or a row of the escape matrix, belongs to the test in whose
// source its id stands: in a string ("bk/W6", "esc/FS-01"), in the comment of the test,
// or alone as the string "FS-01" in a table of the escape matrix.
//
// # Limits
//
// It sees that a test with the id exists, not what it asserts.
package doccheck
