package seccomp

import _ "embed" // the default filter

//go:embed default-arm64.bpf
var defaultBlob string
