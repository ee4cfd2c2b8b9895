//go:build !linux

package nat

import (
	"context"
	"fmt"
	"runtime"
)

// Run needs network namespaces. Error: ErrUnavailable.
func Run(context.Context, Options) ([]Result, error) {
	return nil, fmt.Errorf("%w: it needs Linux's network namespaces, and this is %s", ErrUnavailable, runtime.GOOS)
}
