package messages

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// ErrVolume: a volume cannot be as it is described.
var ErrVolume = errors.New("this is not a volume")

// Bounds of a volume.
const (
	MinVolumeMiB = 16
	MaxVolumeMiB = 16 << 20
	// VolumeKeyBytes is how long a volume's key is.
	VolumeKeyBytes = 64
	maxVolumePath  = 255
)

// Volume is a file system of a lease's own, which is encrypted with a key of the customer's and mounted in the job's container.
type Volume struct {
	Name string `cbor:"1,keyasint" json:"name" max:"64"`
	// MiB is the size of the file system: the most that it takes of the machine's disk.
	MiB uint64 `cbor:"2,keyasint" json:"mib"`
	// Path is where the container has it.
	Path string `cbor:"3,keyasint" json:"path" max:"255"`
}

var volumeName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// machinePaths are made by the runtime in each container.
var machinePaths = []string{"/proc", "/sys", "/dev", "/etc"}

// Validate says what of a volume cannot be. Error: ErrVolume.
func (v Volume) Validate() error {
	switch {
	case !volumeName.MatchString(v.Name):
		return fmt.Errorf("%w: its name is %q; use up to 63 of a to z, 0 to 9, - and _, with a letter or digit first", ErrVolume, v.Name)
	case v.MiB < MinVolumeMiB || v.MiB > MaxVolumeMiB:
		return fmt.Errorf("%w: its size is %d MiB; give from %d MiB to %d TiB", ErrVolume, v.MiB, MinVolumeMiB, MaxVolumeMiB>>20)
	case len(v.Path) > maxVolumePath || v.Path == "/" || !path.IsAbs(v.Path) || path.Clean(v.Path) != v.Path || strings.ContainsFunc(v.Path, notPrintable):
		return fmt.Errorf("%w: its path is %q; give where the container is to have it, such as /data", ErrVolume, v.Path)
	}
	for _, taken := range machinePaths {
		if v.Path == taken || strings.HasPrefix(v.Path, taken+"/") {
			return fmt.Errorf("%w: its path is %s, and the machine makes %s itself; give another, such as /data", ErrVolume, v.Path, taken)
		}
	}
	return nil
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// ParseVolume reads NAME:SIZE[:PATH], such as data:50GiB. Without a path it is at /NAME. Error: ErrVolume.
func ParseVolume(text string) (Volume, error) {
	name, rest, ok := strings.Cut(text, ":")
	size, where, placed := strings.Cut(rest, ":")
	if !ok {
		return Volume{}, fmt.Errorf("%w: %q has no size; write it as data:50GiB or data:50GiB:/path", ErrVolume, text)
	}
	if !placed {
		where = "/" + name
	}
	v := Volume{Name: name, Path: where}
	number := strings.TrimRight(size, "GMTiB")
	n, err := strconv.ParseUint(number, 10, 32)
	factor := map[string]uint64{"MiB": 1, "GiB": 1 << 10, "TiB": 1 << 20}[size[len(number):]]
	if err != nil || factor == 0 {
		return Volume{}, fmt.Errorf("%w: its size is %q; write a whole number of MiB, GiB or TiB, such as 50GiB", ErrVolume, size)
	}
	v.MiB = n * factor
	return v, v.Validate()
}
