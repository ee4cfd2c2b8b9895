package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// DiskSpeed is sequential throughput in 10⁶ bytes a second.
type DiskSpeed struct {
	WriteMBps float64 `json:"write_mbps"`
	ReadMBps  float64 `json:"read_mbps"`
	Bytes     int64   `json:"bytes"`
	Measured  bool    `json:"measured"`
	// Note says how, or why not.
	Note string `json:"note,omitempty"`
}

const diskBlock = 1 << 20

// ErrNoSpace: the file system has no room for the test file.
var ErrNoSpace = errors.New("host: not enough free space for the disk test")

// MeasureDisk writes a file of about size bytes (at least 1 MiB) in dir, makes it durable, drops it from the page
// cache, reads it back and removes it. Data are random, so compression does not help. A controller's or a hypervisor's
// own cache cannot be excluded.
func MeasureDisk(ctx context.Context, dir string, size int64) (DiskSpeed, error) {
	blocks := max(1, size/diskBlock)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return DiskSpeed{}, fmt.Errorf("host: %s: %w", dir, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < uint64(2*blocks*diskBlock) {
		return DiskSpeed{}, fmt.Errorf("%w: %d MiB free in %s", ErrNoSpace, free/mib, dir)
	}
	f, err := os.CreateTemp(dir, ".gantry-disk-test-*")
	if err != nil {
		return DiskSpeed{}, fmt.Errorf("host: %w", err)
	}
	defer f.Close()
	defer os.Remove(f.Name())

	block := make([]byte, diskBlock)
	rng := rand.NewChaCha8([32]byte{1})
	if _, err := rng.Read(block); err != nil {
		return DiskSpeed{}, fmt.Errorf("host: %w", err)
	}
	start := time.Now()
	for i := int64(0); i < blocks; i++ {
		if err := ctx.Err(); err != nil {
			return DiskSpeed{}, err
		}
		block[0], block[1], block[2] = byte(i), byte(i>>8), byte(i>>16) // no two blocks alike
		if _, err := f.Write(block); err != nil {
			return DiskSpeed{}, fmt.Errorf("host: disk test: %w", err)
		}
	}
	if err := f.Sync(); err != nil {
		return DiskSpeed{}, fmt.Errorf("host: disk test: %w", err)
	}
	s := DiskSpeed{Bytes: blocks * diskBlock, Measured: true, Note: "sequential, written durably, read after leaving the page cache"}
	s.WriteMBps = megaPerSecond(s.Bytes, time.Since(start))

	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		s.Note = "sequential, written durably, read perhaps from the page cache"
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return DiskSpeed{}, fmt.Errorf("host: disk test: %w", err)
	}
	start = time.Now()
	for i := int64(0); i < blocks; i++ {
		if err := ctx.Err(); err != nil {
			return DiskSpeed{}, err
		}
		if _, err := io.ReadFull(f, block); err != nil {
			return DiskSpeed{}, fmt.Errorf("host: disk test: %w", err)
		}
	}
	s.ReadMBps = megaPerSecond(s.Bytes, time.Since(start))
	return s, nil
}

// megaPerSecond is bytes over time in 10⁶ a second.
func megaPerSecond(bytes int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) / 1e6 / d.Seconds()
}
