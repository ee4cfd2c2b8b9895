package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// steady counts from the start of the machine. Unlike Go's monotonic clock it counts while the machine sleeps.
func steady() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
