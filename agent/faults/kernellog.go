package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// KernelLog is where the kernel's messages are read: a record a line, "priority,sequence,time,flags;message"
// (https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg).
const KernelLog = "/dev/kmsg"

// maxRecord is the most that the kernel hands out in one read.
const maxRecord = 8192

// FollowKernelLog notes what the driver writes, from the first message after the last repair that the kernel still holds,
// until ctx ends. An error means that the log cannot be read: often, that the process is not root's.
func (s *Standing) FollowKernelLog(ctx context.Context, path string, repaired Repaired) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("kernel log: %w", err)
	}
	var once sync.Once
	stop := context.AfterFunc(ctx, func() { once.Do(func() { _ = f.Close() }) }) // ends a read that waits
	defer stop()
	defer once.Do(func() { _ = f.Close() })
	r := bufio.NewReaderSize(f, maxRecord)
	for {
		line, err := r.ReadString('\n')
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, syscall.EPIPE): // records were lost before they were read; the next read goes on
			continue
		case errors.Is(err, io.EOF):
			return fmt.Errorf("kernel log: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return fmt.Errorf("kernel log: %w", err)
		}
		head, message, ok := strings.Cut(line, ";")
		if !ok || micros(head) <= repaired.Micros {
			continue // a property of the record before, or repaired
		}
		if strings.HasPrefix(message, loads) {
			s.Clear()
		} else if r, ok := parse(message); ok {
			s.note(r)
		}
	}
}

// micros is the time of a record.
func micros(head string) int64 {
	fields := strings.Split(head, ",")
	if len(fields) < 3 {
		return 0
	}
	t, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return 0
	}
	return t
}
