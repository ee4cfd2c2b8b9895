package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// oomWatch hears from cgroup v1 that a container's memory was not enough. The sandbox makes the group and removes it, before its end can
// be looked at: the kernel counts both in an eventfd, one for each time that memory ran out and one for the removal
// (https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#oom-control).
type oomWatch struct {
	group  string
	events *os.File
	count  uint64
}

// oomPoll is the time between looks for the group. A job may use its memory up within a few hundred milliseconds.
const oomPoll = 5 * time.Millisecond

// oomWait is how long the kernel may take to say that a group was removed.
const oomWait = time.Second

func newOOMWatch(leaseID string) *oomWatch {
	return &oomWatch{group: filepath.Join(cgroupV1, cgroupName(leaseID))}
}

// listen looks for the group until it hears from it, or until end is called, which waits. Without a watch it does nothing.
func (o *oomWatch) listen() (end func()) {
	if o == nil {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(oomPoll)
		defer ticker.Stop()
		for {
			if err := o.look(); err != nil {
				fmt.Fprintln(os.Stderr, "whether the memory is not enough cannot be heard:", err)
				return
			}
			if o.events != nil {
				return
			}
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// look begins to listen if the group is there.
func (o *oomWatch) look() error {
	control, err := os.Open(filepath.Join(o.group, "memory.oom_control"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer control.Close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	events := os.NewFile(uintptr(fd), "memory")
	if err := os.WriteFile(filepath.Join(o.group, "cgroup.event_control"), fmt.Appendf(nil, "%d %d", fd, control.Fd()), 0); err != nil {
		return errors.Join(err, events.Close())
	}
	o.events = events
	return nil
}

// ranOut reports, after the container's end, whether its memory ran out.
func (o *oomWatch) ranOut() bool {
	if o == nil || o.events == nil {
		return false
	}
	if err := o.events.SetReadDeadline(time.Now().Add(oomWait)); err != nil {
		return false
	}
	for {
		removed := uint64(0)
		if _, err := os.Stat(o.group); err != nil {
			removed = 1
		}
		if o.count > removed {
			return true
		}
		var n [8]byte
		if _, err := o.events.Read(n[:]); err != nil {
			return false
		}
		o.count += binary.NativeEndian.Uint64(n[:])
	}
}

func (o *oomWatch) close() {
	if o != nil && o.events != nil {
		o.events.Close()
	}
}
