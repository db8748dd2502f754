// Package policy reads what an operator asks for: TOML files, built-in
// profiles and flags become one merged [Policy] in which every value knows
// where it came from.
//
//	file, err := policy.Parse(policy.KindFile, name, text)
//	if err != nil {
//		return err // *Error or Errors, with line, column and hint
//	}
//	flags := policy.NewFlagLayer()
//	if err := flags.AddGrant("--ro ./x", "./x", policy.RightRead); err != nil {
//		return err
//	}
//	layers, err := policy.Layers("", file, flags)
//	if err != nil {
//		return err
//	}
//	p, err := policy.Resolve(policy.Input{Vars: vars, Read: read}, layers...)
//
// [Narrow] then applies a project's own file, and [Nest] decides how entries
// inside each other act together. The language is described in
// brainbox.toml(5).
//
// The package is pure: it makes no system call. Files reach it as bytes,
// directories as [Vars]. Whether a path exists, and what the kernel can hold, is
// decided by package launcher.
//
// # Limits
//
// Paths are expanded and cleaned as text; symbolic links are not followed here,
// so that "link/.." is the folder that holds link. Patterns of the gate are kept
// as written: package gate compiles them. A text is at most 1 MiB, a list or a
// table at most 4096 entries, a merge reads at most 64 files.
package policy
