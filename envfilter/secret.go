package envfilter

import "strings"

// LooksSecret reports whether a variable of this name usually holds a
// credential (escape matrix, EV-01). It serves the hint that a value written on
// a command line is readable by every process of the user; nothing is decided by
// it.
func LooksSecret(name string) bool {
	up := strings.ToUpper(name)
	switch up {
	case "KUBECONFIG", "DATABASE_URL", "PGPASSFILE":
		return true
	}
	if hasAnyPrefix(up, "AWS_", "GOOGLE_", "AZURE_", "DOCKER_") {
		return true
	}
	for _, part := range [...]string{
		"PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTHTOKEN", "APIKEY", "PRIVATE_KEY",
	} {
		if strings.Contains(up, part) {
			return true
		}
	}
	for _, word := range [...]string{"TOKEN", "KEY", "SECRET", "SECRETS", "PASS", "PAT", "DSN", "COOKIE"} {
		if up == word || strings.HasSuffix(up, "_"+word) {
			return true
		}
	}
	return false
}
