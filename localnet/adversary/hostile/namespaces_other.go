//go:build !linux

package hostile

import (
	"context"
	"fmt"
	"runtime"
)

const ownAddr = "11.0.0.1"

// Enter needs network namespaces. Error: ErrUnavailable.
func Enter(context.Context, []string) error {
	return fmt.Errorf("%w: it needs Linux's network namespaces, and this is %s", ErrUnavailable, runtime.GOOS)
}

func furnish(context.Context, []string) error { return ErrUnavailable }

func addMachine(context.Context, int, string, []string) error { return ErrUnavailable }
