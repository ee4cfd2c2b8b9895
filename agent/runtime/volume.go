package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"unsafe"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/messages"
)

// VolumeKey is the key of a volume.
type VolumeKey []byte

// String keeps keys out of logs.
func (VolumeKey) String() string { return "(key)" }

// volume is an encrypted file system in a file as large as its quota. The supervisor alone holds it: it is mounted at no
// path of the machine, only in the job's own mount namespace. When the last process that holds it ends, however that comes,
// the kernel unmounts it, forgets its key and frees the loop device.
type volume struct {
	device *os.File
	mount  *os.File // at no path until the job's process moves it; to close it earlier unmounts it
	root   *os.File // the folder that is mounted
}

// volumeOptions make a file system that can be encrypted, has no journal because it lives no longer than the key in memory,
// and leaves the file's blocks, which are reserved, to the file.
var volumeOptions = []string{"-b", "4096", "-O", "encrypt,^has_journal", "-E", "lazy_itable_init=1,nodiscard"}

func (s Spec) validateVolume() error {
	switch {
	case s.Volume == nil && len(s.VolumeKey) > 0:
		return fmt.Errorf("%w: a key without a volume", ErrSpec)
	}
	return s.validateBackup()
}

// CheckVolumes says why a machine can have no encrypted volumes, or nothing. It makes one in memory and throws it away.
func CheckVolumes() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: its agent does not run as root", ErrVolume)
	}
	fd, err := unix.MemfdCreate("gantry-volume", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVolume, err)
	}
	file := os.NewFile(uintptr(fd), "gantry-volume")
	defer file.Close()
	if err := file.Truncate(messages.MinVolumeMiB << 20); err != nil {
		return fmt.Errorf("%w: %w", ErrVolume, err)
	}
	v, err := newVolume(file, "probe", make(VolumeKey, messages.VolumeKeyBytes))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVolume, err)
	}
	v.close()
	return nil
}

// checkVolume says why the node cannot give a job its volume now.
func (p *Process) checkVolume(spec Spec) error {
	if spec.Volume == nil {
		return nil
	}
	if err := p.volumes(); err != nil {
		return fmt.Errorf("%w; order without --volume, or from another node", err)
	}
	d, err := p.dir(spec.LeaseID)
	if err != nil || d.exists(d.volumeFile()) || d.exists(d.spec()) { // it has its room already
		return err
	}
	return hasRoom(p.root, spec.Volume.MiB)
}

// hasRoom says whether a folder's file system has so much left.
func hasRoom(folder string, mebibytes uint64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return fmt.Errorf("runtime: room on the disk: %w", &os.PathError{Op: "statfs", Path: folder, Err: err})
	}
	if left := fs.Bavail * uint64(fs.Bsize) >> 20; left < mebibytes {
		return noRoom(mebibytes)
	}
	return nil
}

func noRoom(mebibytes uint64) error {
	return fmt.Errorf("%w: its disk has not the %d MiB left", ErrVolume, mebibytes)
}

// reserveVolume makes the file of a lease's volume and has the disk set its blocks aside, so that no other lease and no image
// takes them. Repeating it changes nothing.
func reserveVolume(dir leaseDir, spec Spec) error {
	if spec.Volume == nil || dir.exists(dir.run()) || dir.exists(dir.exit()) {
		return nil
	}
	file, err := reserve(dir.volumeFile(), spec.Volume.MiB)
	if err != nil {
		return err
	}
	return file.Close()
}

// reserve makes a file whose blocks the disk has set aside.
func reserve(path string, mebibytes uint64) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	size := int64(mebibytes << 20)
	err = unix.Fallocate(int(file.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) { // such a disk reserves nothing
		if err = hasRoom(filepath.Dir(path), mebibytes); err == nil {
			err = file.Truncate(size)
		}
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EFBIG) || errors.Is(err, unix.EDQUOT) {
		err = noRoom(mebibytes)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("runtime: reserve %s: %w", filepath.Base(path), err), file.Close(), os.Remove(path))
	}
	return file, nil
}

// sweepVolumes removes the files of volumes whose supervisor was killed. Nothing can read them: their keys are gone.
func (p *Process) sweepVolumes() error {
	entries, err := os.ReadDir(p.root)
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	for _, e := range entries {
		d := leaseDir(filepath.Join(p.root, e.Name()))
		if (!d.exists(d.run()) && !d.exists(d.exit())) || Locked(d.lock()) {
			continue
		}
		err = errors.Join(err, d.removeVolume())
	}
	return err
}

// removeVolume removes the files of encrypted file systems that no process has open any more, if they are there.
func (d leaseDir) removeVolume() error {
	var failed error
	for _, path := range []string{d.volumeFile(), d.stateFile()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("runtime: remove the volume: %w", err))
		}
	}
	return failed
}

// openVolume makes the job's volume in the file that was reserved. The key is overwritten.
func (s *supervisor) openVolume(secret secrets) error {
	if s.spec.Volume == nil {
		return nil
	}
	defer clear(secret.Key)
	file, err := os.OpenFile(s.dir.volumeFile(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("the volume's file: %w", err)
	}
	defer file.Close()
	if s.volume, err = newVolume(file, s.spec.Volume.Name, secret.Key); err != nil {
		return fmt.Errorf("make the volume: %w", err)
	}
	s.record.Limits = append(s.record.Limits, fmt.Sprintf("volume %s of %d MiB at %s: an encrypted file system on %s",
		s.spec.Volume.Name, s.spec.Volume.MiB, s.spec.Volume.Path, s.volume.device.Name()))
	return s.openBackups(secret)
}

// newVolume makes a file system in a file, mounts it, and makes one folder in it that is encrypted with the key.
func newVolume(file *os.File, name string, key VolumeKey) (_ *volume, err error) {
	v := &volume{}
	if v.device, err = makeFileSystem(file, volumeOptions...); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	if v.mount, v.root, err = mountDetached(v.device); err != nil {
		return nil, fmt.Errorf("mount %s: %w", v.device.Name(), err)
	}
	id, err := addKey(v.root, key)
	if err != nil {
		return nil, fmt.Errorf("give the kernel the volume's key: %w", err)
	}
	if err := unix.Mkdirat(int(v.root.Fd()), name, 0o755); err != nil {
		return nil, err
	}
	return v, encrypt(v.root, name, id)
}

// mountDetached mounts a device with a fresh ext4 file system at no path, and opens its root. Closing both unmounts it.
func mountDetached(device *os.File) (mount, root *os.File, err error) {
	fs, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "source", device.Name()); err != nil {
		return nil, nil, err
	}
	// The file is fresh, so that its tables of inodes are zero without a write.
	if err := unix.FsconfigSetFlag(fs, "noinit_itable"); err != nil {
		return nil, nil, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, nil, err
	}
	m, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOATIME)
	if err != nil {
		return nil, nil, err
	}
	mount = os.NewFile(uintptr(m), "mount of "+device.Name())
	r, err := unix.Openat(m, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		mount.Close()
		return nil, nil, err
	}
	return mount, os.NewFile(uintptr(r), "root of "+device.Name()), nil
}

// addKey gives the kernel a key for a file system, and returns the name that the kernel has for it. It forgets the key with
// the file system.
func addKey(root *os.File, key VolumeKey) (id [16]byte, err error) {
	if len(key) != messages.VolumeKeyBytes {
		return id, fmt.Errorf("it has %d bytes, not %d", len(key), messages.VolumeKeyBytes)
	}
	var arg struct {
		unix.FscryptAddKeyArg
		raw [messages.VolumeKeyBytes]byte
	}
	arg.Key_spec.Type = unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER
	arg.Raw_size = messages.VolumeKeyBytes
	copy(arg.raw[:], key)
	defer clear(arg.raw[:])
	if err := ioctl(root, unix.FS_IOC_ADD_ENCRYPTION_KEY, unsafe.Pointer(&arg)); err != nil {
		return id, err
	}
	copy(id[:], arg.Key_spec.U[:])
	return id, nil
}

// encrypt makes everything in an empty folder of a file system encrypted with a key: contents, names, targets of links.
func encrypt(root *os.File, name string, id [16]byte) error {
	fd, err := unix.Openat(int(root.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	policy := unix.FscryptPolicyV2{
		Version: unix.FSCRYPT_POLICY_V2, Contents_encryption_mode: unix.FSCRYPT_MODE_AES_256_XTS,
		Filenames_encryption_mode: unix.FSCRYPT_MODE_AES_256_CTS, Flags: unix.FSCRYPT_POLICY_FLAGS_PAD_32, Master_key_identifier: id,
	}
	if err := ioctl(folder, unix.FS_IOC_SET_ENCRYPTION_POLICY, unsafe.Pointer(&policy)); err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	return nil
}

func ioctl(f *os.File, request uint, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), uintptr(request), uintptr(arg))
	goruntime.KeepAlive(f)
	if errno != 0 {
		return errno
	}
	return nil
}

// mountVolume moves the mount that the supervisor has made to where this process and its children see it.
func mountVolume(dir leaseDir, spec Spec) error {
	if spec.Volume == nil {
		return nil
	}
	unix.CloseOnExec(fdVolume)
	if err := os.MkdirAll(dir.volume(), 0o700); err != nil {
		return err
	}
	if err := unix.MoveMount(fdVolume, "", unix.AT_FDCWD, dir.volume(), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount the volume: %w", err)
	}
	return unix.Close(fdVolume)
}

// addVolume shows a container its volume, which belongs to the container's user.
func addVolume(dir leaseDir, spec Spec, config *specs.Spec) error {
	if spec.Volume == nil {
		return nil
	}
	folder := filepath.Join(dir.volume(), spec.Volume.Name)
	if err := os.Chown(folder, int(config.Process.User.UID), int(config.Process.User.GID)); err != nil {
		return err
	}
	config.Mounts = append(config.Mounts, specs.Mount{
		Destination: spec.Volume.Path, Type: "bind", Source: folder, Options: []string{"bind", "rw", "nosuid", "nodev"},
	})
	return nil
}

// ioctlShutdown is EXT4_IOC_SHUTDOWN, and withoutFlush its argument that leaves what is not on the disk yet unwritten.
const (
	ioctlShutdown = 0x8004587d
	withoutFlush  = 2
)

// destroy gives up a volume once nothing of the job runs: what was not written yet is not written any more.
func (v *volume) destroy(path string) {
	if v == nil {
		return
	}
	how := uint32(withoutFlush)
	if err := ioctl(v.root, ioctlShutdown, unsafe.Pointer(&how)); err != nil {
		fmt.Fprintln(os.Stderr, "the volume is written out before it is removed:", err)
	}
	v.close()
	if err := os.Remove(path); err != nil {
		fmt.Fprintln(os.Stderr, err) // the agent removes it with the lease
	}
}

// folder opens the folder that is encrypted.
func (v *volume) folder(name string) (*os.Root, error) {
	return os.OpenRoot(filepath.Join(fmt.Sprintf("/proc/self/fd/%d", v.root.Fd()), name))
}

// close lets go of the mount and the device.
func (v *volume) close() {
	for _, f := range []*os.File{v.root, v.mount, v.device} {
		if f != nil {
			f.Close()
		}
	}
}
