package gpus

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	cdi "tags.cncf.io/container-device-interface/specs-go"
)

// linksInside is where the links lie in a container: in a folder where no machine has its driver, whose libraries a mount
// above them would hide.
const linksInside = "/usr/local/gantry/lib64"

var (
	// nodes are the devices that the sandbox passes on. Others of the driver are of no use in it.
	nodes   = regexp.MustCompile(`^/dev/nvidia(ctl|-uvm|[0-9]+)$`)
	oneGPU  = regexp.MustCompile(`^/dev/nvidia[0-9]+$`)
	library = regexp.MustCompile(`^lib[^/]*\.so(\.[^/]*)?$`)
)

// Edit gives a container exactly the GPUs with these UUIDs: their device nodes, and the driver's files, which the loader
// looks for before those of the image's own LD_LIBRARY_PATH. Error: ErrSpec.
func (d Driver) Edit(config *oci.Spec, uuids []string) error {
	spec, err := load(d.Spec)
	if err != nil {
		return err
	}
	edits := []cdi.ContainerEdits{spec.ContainerEdits}
	for _, uuid := range uuids {
		found := false
		for _, device := range spec.Devices {
			if device.Name == uuid {
				if err := d.same(device); err != nil {
					return err
				}
				edits, found = append(edits, device.ContainerEdits), true
			}
		}
		if !found {
			return fmt.Errorf("%w: it has no device %s", ErrSpec, uuid)
		}
	}
	seen := map[string]bool{}
	gpus := 0
	for _, e := range edits {
		for _, n := range e.DeviceNodes {
			if n == nil || seen[n.Path] || !nodes.MatchString(n.Path) {
				continue
			}
			node, err := device(n)
			if err != nil {
				return err
			}
			seen[n.Path] = true
			if oneGPU.MatchString(n.Path) {
				gpus++
			}
			config.Linux.Devices = append(config.Linux.Devices, node)
		}
		for _, m := range e.Mounts {
			if m == nil || seen[m.ContainerPath] {
				continue
			}
			if !program(m) {
				if library.MatchString(path.Base(m.ContainerPath)) {
					return fmt.Errorf("%w: the driver's library %s is not there any more; if the driver was upgraded, restart the machine", ErrSpec, m.HostPath)
				}
				continue
			}
			seen[m.ContainerPath] = true
			config.Mounts = append(config.Mounts, bind(m.HostPath, m.ContainerPath))
		}
	}
	if gpus != len(uuids) {
		return fmt.Errorf("%w: it has %d device nodes for %d GPUs", ErrSpec, gpus, len(uuids))
	}
	config.Mounts = append(config.Mounts, bind(d.Links, linksInside))
	const name = "LD_LIBRARY_PATH="
	find := name + linksInside
	config.Process.Env = slices.DeleteFunc(config.Process.Env, func(pair string) bool {
		libraries, own := strings.CutPrefix(pair, name)
		if own && libraries != "" {
			find += ":" + libraries
		}
		return own
	})
	config.Process.Env = append(config.Process.Env, find)
	return nil
}

// same compares the nodes that the specification has for a GPU with the one that the driver says it has.
func (d Driver) same(of cdi.Device) error {
	minor, known := d.Minors[of.Name]
	if !known {
		return nil
	}
	want := fmt.Sprintf("/dev/nvidia%d", minor)
	for _, n := range of.ContainerEdits.DeviceNodes {
		if n != nil && oneGPU.MatchString(n.Path) && n.Path != want {
			return fmt.Errorf("%w: it has %s for %s, which the driver has at %s", ErrSpec, n.Path, of.Name, want)
		}
	}
	return nil
}

func bind(from, to string) oci.Mount {
	return oci.Mount{Destination: to, Type: "bind", Source: from, Options: []string{"bind", "ro", "nosuid", "nodev"}}
}

// device is a node with the numbers that it has on the machine now.
func device(n *cdi.DeviceNode) (oci.LinuxDevice, error) {
	if n.HostPath != "" && n.HostPath != n.Path { // the sandbox opens the machine's node of the same name
		return oci.LinuxDevice{}, fmt.Errorf("%w: device %s lies at %s on the machine", ErrSpec, n.Path, n.HostPath)
	}
	var st unix.Stat_t
	if err := unix.Stat(n.Path, &st); err != nil {
		return oci.LinuxDevice{}, fmt.Errorf("%w: device %s: %w", ErrSpec, n.Path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return oci.LinuxDevice{}, fmt.Errorf("%w: %s is not a device", ErrSpec, n.Path)
	}
	mode := os.FileMode(0o666)
	return oci.LinuxDevice{Path: n.Path, Type: "c", Major: int64(unix.Major(st.Rdev)), Minor: int64(unix.Minor(st.Rdev)), FileMode: &mode}, nil
}

// program reports whether a mount is a file that programs load or run. Sockets of services of the machine, folders and the
// driver's firmware are none.
func program(m *cdi.Mount) bool {
	info, err := os.Stat(m.HostPath)
	return err == nil && info.Mode().IsRegular() && path.IsAbs(m.ContainerPath) && !strings.Contains(m.ContainerPath, "/firmware/")
}

// link fills a folder with links to the driver's libraries, by the names under which programs look for them: what the toolkit's
// hooks would make in the image.
func link(folder string, spec *cdi.Spec) error {
	add := func(name, target string) error {
		if !library.MatchString(name) || !path.IsAbs(target) {
			return nil
		}
		at := filepath.Join(folder, name)
		if has, err := os.Readlink(at); err == nil && has == target {
			return nil // containers use it
		}
		fresh := at + ".new"
		if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Symlink(target, fresh); err != nil {
			return err
		}
		return os.Rename(fresh, at)
	}
	for _, m := range spec.ContainerEdits.Mounts {
		if m == nil || !library.MatchString(path.Base(m.ContainerPath)) || !program(m) {
			continue
		}
		if err := add(path.Base(m.ContainerPath), m.ContainerPath); err != nil {
			return err
		}
		if name := soname(m.HostPath); name != "" {
			if err := add(name, m.ContainerPath); err != nil {
				return err
			}
		}
	}
	for _, h := range spec.ContainerEdits.Hooks {
		if h == nil {
			continue
		}
		for _, arg := range h.Args { // TARGET::LINK
			target, from, ok := strings.Cut(strings.TrimPrefix(arg, "--link="), "::")
			if !ok {
				continue
			}
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(from), target)
			}
			// The target itself may be a link that a hook would make: in this folder it has the same name.
			if _, err := os.Lstat(filepath.Join(folder, path.Base(target))); err == nil {
				target = path.Join(linksInside, path.Base(target))
			}
			if err := add(path.Base(from), target); err != nil {
				return err
			}
		}
	}
	return nil
}

// soname is the name that a library gives itself; empty if it has none.
func soname(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil || len(names) == 0 {
		return ""
	}
	return path.Base(names[0])
}
