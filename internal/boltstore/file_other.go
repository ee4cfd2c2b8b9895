//go:build !unix

package boltstore

import (
	"io"
	"os"
	"time"
)

// lock does nothing: where bbolt has the file open, it cannot be read.
func lock(*os.File, time.Duration) error { return nil }

func mapped(f *os.File, _ int64) ([]byte, func(), error) {
	raw, err := io.ReadAll(f)
	return raw, func() {}, err
}
