package runtime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// loopTries is how often a free loop device is asked for: between the answer and its use another process may take it.
const loopTries = 20

// disk is what a container may write to: a file system of its own, in a file as large as the limit, so that the kernel
// keeps the limit and the job sees a full disk. The files are not encrypted, and have no journal: after a crash they are thrown
// away.
type disk struct {
	device *os.File
}

// newDisk makes the file system and ties it to a loop device, or says why there can be none. The device is free again when
// it is closed and nothing is mounted from it, however the processes that hold it have ended.
func newDisk(dir leaseDir, mebibytes uint64) (*disk, error) {
	file, err := os.OpenFile(dir.diskFile(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	err = file.Truncate(int64(mebibytes << 20))
	var device *os.File
	if err == nil {
		device, err = makeFileSystem(file, "-O", "^has_journal", "-E", "lazy_itable_init=1")
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	return &disk{device: device}, nil
}

// makeFileSystem makes an ext4 file system in a file and ties the file to a loop device. Without a reserve for root: the
// job is root.
func makeFileSystem(file *os.File, options ...string) (*os.File, error) {
	mkfs, err := findMkfs()
	if err != nil {
		return nil, err
	}
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil || !strings.Contains(string(known), "\text4\n") {
		return nil, errors.Join(errors.New("the kernel has no ext4"), err)
	}
	make := exec.Command(mkfs, append([]string{"-q", "-F", "-m", "0"}, append(options, "/proc/self/fd/3")...)...)
	make.Env = []string{"PATH=" + defaultPath}
	make.ExtraFiles = []*os.File{file}
	if out, err := make.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", mkfs, err, strings.TrimSpace(string(out)))
	}
	return attachLoop(file)
}

func findMkfs() (string, error) {
	for _, folder := range filepath.SplitList(defaultPath) {
		path := filepath.Join(folder, "mkfs.ext4")
		if unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no mkfs.ext4 (package e2fsprogs)")
}

// attachLoop ties a file to a free loop device, whose last user frees it.
func attachLoop(file *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	var last error
	for range loopTries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a loop device: %w", err)
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		copy(config.Info.File_name[:len(config.Info.File_name)-1], file.Name())
		last = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if last == nil {
			return device, nil
		}
		device.Close()
		if !errors.Is(last, unix.EBUSY) {
			break
		}
	}
	return nil, fmt.Errorf("use a loop device: %w", last)
}

// close lets go of the device.
func (d *disk) close() {
	if d != nil {
		d.device.Close()
	}
}

// chooseDisk makes a container's file system if there can be one, and says what limits the disk.
func (s *supervisor) chooseDisk() {
	mebibytes, how := s.spec.Limits.DiskMiB, "RLIMIT_FSIZE for each file, watch over the directory"
	if mebibytes == 0 {
		return
	}
	if s.spec.Image != "" {
		d, err := newDisk(s.dir, mebibytes)
		if err == nil {
			s.disk, s.record.Disk, how = d, d.device.Name(), "a file system of its own on "+d.device.Name()
		} else {
			how = fmt.Sprintf("watch over the directory, because it can have no file system of its own: %v", err)
		}
	}
	s.record.Limits = append(s.record.Limits, fmt.Sprintf("disk %d MiB: %s", mebibytes, how))
}

// mountDisk mounts what the supervisor has made, if it has, where the job's files go. The calling process must be in a
// mount namespace of its own: the mount ends with it.
func mountDisk(dir leaseDir) error {
	var run runRecord
	if _, err := readJSON(dir.run(), &run); err != nil || run.Disk == "" {
		return err
	}
	if err := unix.Mount(run.Disk, dir.work(), "ext4", unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOATIME, "discard"); err != nil {
		return fmt.Errorf("mount the job's disk %s: %w", run.Disk, err)
	}
	return nil
}
