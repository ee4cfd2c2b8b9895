// Package long marks tests that repeat or last: `make test-all` runs them, and `make test`, which shows each promise once,
// leaves them out and counts them.
package long

import (
	"os"
	"testing"
)

// Variable runs the long tests too, when it is set.
const Variable = "GANTRY_TEST_ALL"

// Prefix begins the reason of a test that is left out; scripts/testsum counts these and does not list them as skipped.
const Prefix = "LONG: "

// Test leaves a test out unless the long ones are wanted. why says what makes it long.
func Test(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(Variable) == "" {
		t.Skip(Prefix + why + "; make test-all")
	}
}
