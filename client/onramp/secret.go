package onramp

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
)

// maxSecret is how long a secret may be, bytes.
const maxSecret = 4 << 10

// ReadSecret reads the file of a webhook's secret, which only its owner may read. Error: ErrSecret, which never quotes
// it.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSecret, err)
	case !info.Mode().IsRegular() || info.Size() > maxSecret:
		return nil, fmt.Errorf("%w: %s is not a file of at most %d bytes", ErrSecret, path, maxSecret)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // Windows has lists of who may read, of which Go says nothing
		return nil, fmt.Errorf("%w: others can read %s (mode %04o); make it yours alone: chmod 600 %s", ErrSecret, path, info.Mode().Perm(), path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecret, err)
	}
	return bytes.TrimSpace(raw), nil
}
