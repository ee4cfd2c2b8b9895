// Package layering holds the tests that keep the structure of this repository: which package may import which, how
// packages are named, and how long files and functions may become. It has no code of its own. The rules are in
// rules_test.go, what is excused from them in exceptions_test.go.
package layering
