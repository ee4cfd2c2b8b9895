// Package bench holds what measurements of local networks share: the line that says when and on which computer they ran.
package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Conditions is the line of a page above its figures: when the run began, the engine, and the computer with its load.
func Conditions(began time.Time, engine string) string {
	return fmt.Sprintf("%s, engine %s: %s", began.UTC().Format("2006-01-02 15:04 UTC"), engine, computer())
}

// computer describes this one: processors, kernel and load.
func computer() string {
	model := "an unknown processor"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(raw), "model name\t: "); ok {
			model, _, _ = strings.Cut(rest, "\n")
		}
	}
	kernel := "unknown"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	load := "unknown"
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(raw), " ")
	}
	return fmt.Sprintf("%d cores of %s, Linux %s; load at the end %s.", runtime.NumCPU(), model, kernel, load)
}
