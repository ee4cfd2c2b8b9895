package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ulikunitz/xz"
)

//go:embed inputs.txt
var pinned string

var (
	// ErrNoInputs: the packages are not in the folder.
	ErrNoInputs = errors.New("the packages of the guest's image are not here: scripts/toolchain.sh guest fetches them")
	// ErrPin: a package is another one than is pinned.
	ErrPin = errors.New("not the pinned package")
)

// Pin is a package of Debian.
type Pin struct{ Name, Version, SHA256, Path string }

// Pins are the packages that are pinned.
func Pins() ([]Pin, error) {
	var out []Pin
	for s := bufio.NewScanner(strings.NewReader(pinned)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) != 4 {
			return nil, fmt.Errorf("pinned packages: %q: a line has name, version, sha256 and path", s.Text())
		}
		out = append(out, Pin{fields[0], fields[1], fields[2], fields[3]})
	}
	return out, nil
}

// Files of the packages.
const (
	stubFile   = "usr/lib/systemd/boot/efi/linuxx64.efi.stub"
	kernelFile = "boot/vmlinuz-"
	modulesDir = "usr/lib/modules/"

	// FirmwareCode and FirmwareVars are the firmware and its empty variables, which tests boot with.
	FirmwareCode = "usr/share/OVMF/OVMF_CODE_4M.fd"
	FirmwareVars = "usr/share/OVMF/OVMF_VARS_4M.fd"
)

// modules are loaded in this order. All else that the guest needs is in the kernel: network cards of QEMU, the file system of
// containers, and reports of processors. The last two serve confidential machines alone.
var modules = []string{
	"kernel/net/core/failover.ko.xz", "kernel/drivers/net/net_failover.ko.xz", "kernel/drivers/net/virtio_net.ko.xz", "kernel/fs/overlayfs/overlay.ko.xz",
	"kernel/fs/configfs/configfs.ko.xz", "kernel/drivers/virt/coco/tsm.ko.xz", "kernel/drivers/virt/coco/sev-guest/sev-guest.ko.xz",
	"kernel/drivers/virt/coco/tdx-guest/tdx-guest.ko.xz",
}

// Module is a part of the kernel that is loaded by the guest's program.
type Module struct {
	Name string
	Data []byte
}

// Inputs are what an image is made of, without the program.
type Inputs struct {
	Stub, Kernel []byte
	// Modules are in the order in which they are loaded.
	Modules []Module
	// Release is the kernel's version, as uname has it.
	Release string
}

// Folder is where scripts/toolchain.sh puts the packages.
func Folder() (string, error) {
	cache := os.Getenv("GANTRY_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("folder of packages: %w", err)
		}
		cache = filepath.Join(home, ".cache", "gantry")
	}
	return filepath.Join(cache, "guest", "packages"), nil
}

// Load takes kernel, modules and stub out of the packages in a folder. Errors: ErrNoInputs, ErrPin.
func Load(dir string) (*Inputs, error) {
	pins, err := Pins()
	if err != nil {
		return nil, err
	}
	var in Inputs
	for _, p := range pins {
		switch {
		case p.Name == "systemd-boot-efi":
			files, err := p.take(dir, []string{stubFile})
			if err != nil {
				return nil, err
			}
			in.Stub = files[stubFile]
		case strings.HasPrefix(p.Name, "linux-image-"):
			if err := in.kernel(dir, p); err != nil {
				return nil, err
			}
		}
	}
	if in.Stub == nil || in.Kernel == nil {
		return nil, fmt.Errorf("pinned packages: no kernel, or no stub: %w", ErrPin)
	}
	return &in, nil
}

func (in *Inputs) kernel(dir string, p Pin) error {
	in.Release = strings.TrimPrefix(p.Name, "linux-image-")
	want := []string{kernelFile + in.Release}
	for _, m := range modules {
		want = append(want, modulesDir+in.Release+"/"+m)
	}
	files, err := p.take(dir, want)
	if err != nil {
		return err
	}
	in.Kernel = files[want[0]]
	for i, m := range modules {
		in.Modules = append(in.Modules, Module{path.Base(m), files[want[i+1]]})
	}
	return nil
}

// Firmware is the firmware that tests boot the image with. Errors: ErrNoInputs, ErrPin.
func Firmware(dir string) (code, vars []byte, err error) {
	pins, err := Pins()
	if err != nil {
		return nil, nil, err
	}
	for _, p := range pins {
		if p.Name != "ovmf" {
			continue
		}
		files, err := p.take(dir, []string{FirmwareCode, FirmwareVars})
		if err != nil {
			return nil, nil, err
		}
		return files[FirmwareCode], files[FirmwareVars], nil
	}
	return nil, nil, fmt.Errorf("pinned packages: no firmware: %w", ErrPin)
}

// take reads files of a package, which must all be there.
func (p Pin) take(dir string, want []string) (map[string][]byte, error) {
	deb, err := os.ReadFile(filepath.Join(dir, path.Base(p.Path)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", p.Name, ErrNoInputs)
	}
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", p.Name, err)
	}
	if sum := sha256.Sum256(deb); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("%s %s has sha256 %x, and %s is pinned: %w", p.Name, p.Version, sum, p.SHA256, ErrPin)
	}
	files, err := unpack(deb, want)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", p.Name, err)
	}
	for _, name := range want {
		if files[name] == nil {
			return nil, fmt.Errorf("package %s has no %s", p.Name, name)
		}
	}
	return files, nil
}

const (
	arMagic      = "!<arch>\n"
	arHeader     = 60
	arSizeAt     = 48
	arSizeEnd    = 58
	dataMember   = "data.tar.xz"
	maxInputFile = 256 << 20
)

// unpack reads files of a Debian package: an archive of ar, whose last member is one of tar.
func unpack(deb []byte, want []string) (map[string][]byte, error) {
	rest, ok := bytes.CutPrefix(deb, []byte(arMagic))
	for ok && len(rest) >= arHeader {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[arSizeAt:arSizeEnd])))
		if err != nil || size < 0 || size > len(rest)-arHeader {
			return nil, errors.New("a member of the archive has no size")
		}
		if name == dataMember {
			return untar(rest[arHeader:arHeader+size], want)
		}
		rest = rest[min(arHeader+size+size%2, len(rest)):]
	}
	return nil, errors.New("it has no " + dataMember)
}

func untar(data []byte, want []string) (map[string][]byte, error) {
	plain, err := xz.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, name := range want {
		wanted[name] = true
	}
	out := map[string][]byte{}
	for r := tar.NewReader(plain); len(out) < len(wanted); {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(h.Name, "./")
		if !wanted[name] || h.Typeflag != tar.TypeReg {
			continue
		}
		if out[name], err = io.ReadAll(io.LimitReader(r, maxInputFile)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
