//go:build !unix

package boltstore

import (
	"io"
	"os"
)

func mapped(f *os.File, _ int64) ([]byte, func(), error) {
	raw, err := io.ReadAll(f)
	return raw, func() {}, err
}
