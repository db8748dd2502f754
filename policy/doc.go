// Package policy reads what an operator asks for: TOML files, built-in
// profiles and flags become one merged [Policy] in which every value knows
// where it came from.
//
// The package is pure: it makes no system call. Files reach it as bytes,
// directories as [Vars]. Whether a path exists, and what the kernel can hold, is
// decided by package launcher.
//
// # Limits
//
// Paths are expanded and cleaned as text; symbolic links are not followed here.
package policy
