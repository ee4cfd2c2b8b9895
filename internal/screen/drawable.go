//go:build !windows

package screen

import "os"

// drawable: every terminal obeys control sequences, and TERM names those that do not.
func drawable(*os.File) bool { return true }
