// Package scale marks benchmarks of markets of a million machines: `make scale` runs them, and `make bench`, which takes minutes and little
// memory, leaves them out.
package scale

import (
	"os"
	"testing"
)

// Variable runs the benchmarks, when it is set.
const Variable = "GANTRY_SCALE"

// Bench leaves a benchmark out unless those of large markets are wanted: they take minutes and gigabytes.
func Bench(b testing.TB) {
	b.Helper()
	if os.Getenv(Variable) == "" {
		b.Skip("a market of a million machines; make scale")
	}
}
