package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const hostname = "gantry"

// devBytes bounds what a container can write beside the devices in /dev.
const devBytes = 64 << 20

// mount is a file system of a container's.
type mount struct {
	kind, at string
	flags    uintptr
	options  string
}

func (s *Spec) mounts() []mount {
	shared := "mode=1777"
	if s.SharedBytes > 0 {
		shared += fmt.Sprintf(",size=%d", s.SharedBytes)
	}
	return []mount{
		{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY, ""},
		{"tmpfs", "/dev", unix.MS_NOSUID | unix.MS_NOEXEC, fmt.Sprintf("mode=755,size=%d", devBytes)},
		{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
		{"tmpfs", "/dev/shm", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, shared},
	}
}

// devices have numbers that are Linux's own.
var devices = []struct {
	name         string
	major, minor uint32
}{{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}}

var links = map[string]string{
	"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2", "/dev/ptmx": "pts/ptmx",
}

// Parts of /proc and /sys that steer the kernel a container can read. Those that show more than the container's own it cannot see.
var (
	readOnly = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
	hidden   = []string{
		"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/kpagecount", "/proc/kpageflags", "/proc/scsi", "/proc/timer_list", "/sys/firmware", "/sys/kernel/security",
		"/sys/kernel/config", "/sys/kernel/debug", "/sys/kernel/tracing",
	}
)

// enter makes the image this process's world. Nothing of the image is looked up before the root is its own: a link in it leads nowhere else.
func (s *Spec) enter() error {
	if err := s.pivot(); err != nil {
		return err
	}
	for _, m := range s.mounts() {
		if err := folder(m.at); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	for _, d := range devices {
		path := filepath.Join("/dev", d.name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor))); err != nil {
			return fmt.Errorf("device %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // whatever the umask is
			return fmt.Errorf("device %s: %w", path, err)
		}
	}
	for from, to := range links {
		if err := os.Symlink(to, from); err != nil {
			return fmt.Errorf("devices: %w", err)
		}
	}
	if err := protect(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("name of the machine: %w", err)
	}
	if s.Job.Network == "" {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			return fmt.Errorf("own network: %w", err)
		}
	}
	return s.files()
}

// pivot lays a folder over the image's layers, and makes the result the root.
func (s *Spec) pivot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("own mounts: %w", err)
	}
	var size string
	if s.DiskBytes > 0 {
		size = fmt.Sprintf(",size=%d", s.DiskBytes)
	}
	if err := unix.Mount("tmpfs", s.Dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=700"+size); err != nil {
		return fmt.Errorf("mount a folder for what the container writes: %w", err)
	}
	upper, work, root := filepath.Join(s.Dir, "upper"), filepath.Join(s.Dir, "work"), filepath.Join(s.Dir, "root")
	for _, dir := range []string{upper, work, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	// Names relative to the folder of layers: the options of a mount are one page long.
	if err := os.Chdir(s.Store); err != nil {
		return err
	}
	layers := slices.Clone(s.Layers)
	slices.Reverse(layers)
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,redirect_dir=nofollow,metacopy=off", strings.Join(layers, ":"), upper, work)
	if err := unix.Mount("overlay", root, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		return fmt.Errorf("mount the image: %w", err)
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root lies over the new one
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return os.Chdir("/")
}

// folder makes a folder to mount on. One that the image has must not be a link: mounts would come to lie over others.
func folder(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(path, 0o755)
	} else if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return fmt.Errorf("the image's %s: %w", path, err)
	}
	return nil
}

// protect takes what steers the kernel out of the container's hands.
func protect() error {
	for _, path := range readOnly {
		err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
		if err == nil {
			err = unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	for _, path := range hidden {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && info.IsDir():
			err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY, "size=0")
		case err == nil:
			err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// files are what a container finds of its network, in place of the image's.
func (s *Spec) files() error {
	if err := os.MkdirAll("/etc", 0o755); err != nil {
		return fmt.Errorf("the image's /etc: %w", err)
	}
	for name, text := range map[string]string{
		"/etc/resolv.conf": s.Resolv, "/etc/hostname": hostname + "\n", "/etc/hosts": "127.0.0.1 localhost\n127.0.1.1 " + hostname + "\n",
	} {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("the image's %s: %w", name, err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("the image's %s: %w", name, err)
		}
	}
	if _, err := os.Lstat("/tmp"); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(os.Mkdir("/tmp", 0o777), os.Chmod("/tmp", 0o777|os.ModeSticky)); err != nil {
			return fmt.Errorf("the image's /tmp: %w", err)
		}
	}
	return nil
}
