//go:build !linux

package clock

import "time"

func steady() time.Duration { return time.Since(began) }
