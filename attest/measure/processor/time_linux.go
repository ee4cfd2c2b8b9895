package processor

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long the thread that asks has had a processor.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0 // no Linux is without this clock
	}
	return time.Duration(t.Nano())
}
