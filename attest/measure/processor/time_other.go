//go:build !linux

package processor

import "time"

var begun = time.Now()

// threadTime is the time on the wall: simulated machines run on Linux.
func threadTime() time.Duration { return time.Since(begun) }
