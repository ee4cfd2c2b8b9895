package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/wait"
)

// Places of the guest.
const (
	modulesDir = "/modules"
	portsDir   = "/sys/class/virtio-ports"
	groupsDir  = "/sys/fs/cgroup"
	imagesDir  = "/images"
	workDir    = "/work"
	resolvFile = "/etc/resolv.conf"

	// rootSize is the part of the memory that files may take.
	rootSize = "75%"
)

const (
	portFor   = 30 * time.Second // how long the port may be missing
	portPause = 20 * time.Millisecond
)

// mounts are file systems of the kernel. configfs needs its module.
var mounts = []struct {
	kind, at string
	flags    uintptr
}{
	{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"devtmpfs", "/dev", unix.MS_NOSUID | unix.MS_NOEXEC},
	{"securityfs", "/sys/kernel/security", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"configfs", "/sys/kernel/config", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"cgroup2", groupsDir, unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
}

// settings take parts of the kernel away that a container's program could attack, and that the guest does not need. They are set once
// the modules are loaded.
var settings = []struct{ name, value string }{
	{"user/max_user_namespaces", "0"},
	{"kernel/io_uring_disabled", "2"},
	{"kernel/unprivileged_bpf_disabled", "1"},
	{"kernel/perf_event_paranoid", "3"},
	{"kernel/dmesg_restrict", "1"},
	{"kernel/kexec_load_disabled", "1"},
	{"kernel/modules_disabled", "1"},
	{"net/ipv6/conf/all/disable_ipv6", "1"}, // the host names an address of IPv4
}

// Boot loads the modules, goes to a root in memory, mounts the kernel's file systems, and makes the kernel smaller.
func Boot(log zerolog.Logger) error {
	if err := loadAll(log); err != nil {
		return err
	}
	if err := switchRoot(); err != nil {
		return fmt.Errorf("go to a root in memory: %w", err)
	}
	for _, m := range mounts {
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
		}
	}
	for _, s := range settings {
		if err := os.WriteFile(filepath.Join("/proc/sys", s.name), []byte(s.value), 0); err != nil {
			return fmt.Errorf("setting of the kernel: %w", err)
		}
	}
	return nil
}

// switchRoot goes to a new root. The kernel's first one cannot be exchanged, so that containers could not leave it. Images and what
// containers write are in the new one.
func switchRoot() error {
	const fresh = "/sys" // a folder that is there
	if err := unix.Mount("tmpfs", fresh, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=755,size="+rootSize); err != nil {
		return err
	}
	for _, dir := range []string{"dev", "etc", "proc", "sys", "tmp", imagesDir, workDir} {
		if err := os.MkdirAll(filepath.Join(fresh, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chdir(fresh); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// loadAll loads the modules.
func loadAll(log zerolog.Logger) error {
	files, err := os.ReadDir(modulesDir) // in the order of names, which is that of loading
	if err != nil {
		return fmt.Errorf("modules: %w", err)
	}
	for _, f := range files {
		err := load(filepath.Join(modulesDir, f.Name()))
		switch {
		case errors.Is(err, unix.ENODEV): // drivers of confidential machines say so where the machine is another one
			log.Info().Str("module", f.Name()).Msg("this machine has no such device")
		case err != nil:
			return fmt.Errorf("load module %s: %w", f.Name(), err)
		}
	}
	return nil
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.FinitModule(int(f.Fd()), "", unix.MODULE_INIT_COMPRESSED_FILE)
}

// OpenPort waits for the port with a name, and for the host on its other end.
func OpenPort(ctx context.Context, name string) (*Port, error) {
	ctx, cancel := context.WithTimeout(ctx, portFor)
	defer cancel()
	for {
		device, err := findPort(portsDir, name)
		if err != nil {
			return nil, err
		}
		if device != "" {
			f, err := os.OpenFile(filepath.Join("/dev", device), os.O_RDWR, 0)
			if err != nil {
				return nil, fmt.Errorf("port %s: %w", name, err)
			}
			return &Port{file: f}, nil
		}
		if err := wait.For(ctx, portPause); err != nil {
			return nil, fmt.Errorf("this machine has no serial port with the name %s: %w", name, err)
		}
	}
}

// findPort is the device of the port with a name; "" for none.
func findPort(dir, name string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("serial ports: %w", err)
	}
	at := slices.IndexFunc(files, func(f os.DirEntry) bool {
		text, err := os.ReadFile(filepath.Join(dir, f.Name(), "name"))
		return err == nil && strings.TrimSpace(string(text)) == name
	})
	if at < 0 {
		return "", nil
	}
	return files[at].Name(), nil
}

// Off switches the machine off. It returns only if that fails.
func Off() error { return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) }
