// Package filelock locks files between processes. On every system the locks are those of bbolt, so that a store that bbolt has open
// counts as locked.
package filelock

import "errors"

// ErrHeld means that another process has the lock.
var ErrHeld = errors.New("another process has locked the file")
