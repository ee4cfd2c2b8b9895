// Package gpus gives the containers of leases their GPUs, by a CDI specification that the driver's own toolkit writes. The
// agent applies the specification itself, and runs none of its hooks: no program of the machine sees what an image says.
package gpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdi "tags.cncf.io/container-device-interface/specs-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

var (
	// ErrDriver: the sandbox does not know the machine's driver.
	ErrDriver = errors.New("gpus: the sandbox does not know this NVIDIA driver")
	// ErrToolkit: the specification could not be made.
	ErrToolkit = errors.New("gpus: no specification of the GPUs for containers")
	// ErrSpec: the specification cannot be applied.
	ErrSpec = errors.New("gpus: the specification of the GPUs cannot be used")
)

// Driver is what containers need to know of the machine's driver. The zero value gives them no GPUs.
type Driver struct {
	// Version of the driver.
	Version string `json:"version,omitempty"`
	// Spec is the file of the CDI specification, and Links a folder of links by which programs find the driver's libraries.
	Spec  string `json:"spec,omitempty"`
	Links string `json:"links,omitempty"`
	// Minors are the numbers of the devices' nodes by their UUIDs, as the driver says them; what the specification says otherwise is
	// wrong. Nil: not compared.
	Minors map[string]int `json:"minors,omitempty"`
	// Facts are what images may require besides the version.
	Facts Facts `json:"facts,omitzero"`
}

// timeout bounds the programs that are asked.
const timeout = time.Minute

// Check asks a runsc whether it knows a driver. Error: ErrDriver, with those that may be installed instead.
func Check(ctx context.Context, runsc, version string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, runsc, "nvproxy", "list-supported-drivers").Output()
	if err != nil {
		return fmt.Errorf("%w: %s nvproxy list-supported-drivers: %w", ErrDriver, runsc, err)
	}
	known := strings.Fields(string(out))
	if slices.Contains(known, version) {
		return nil
	}
	branch, _, _ := strings.Cut(version, ".")
	near := slices.DeleteFunc(slices.Clone(known), func(v string) bool { return !strings.HasPrefix(v, branch+".") })
	if len(near) == 0 {
		near = known
	}
	return fmt.Errorf("%w: it is %s; install one of: %s", ErrDriver, version, strings.Join(near, ", "))
}

// Prepare checks the driver and makes its specification in a folder of the agent's own. One that is there is replaced: devices are
// numbered anew when the machine starts, and get nodes that they had not. What containers of the same driver use stays. Those
// of other versions are removed. Errors: ErrDriver, ErrToolkit.
func Prepare(ctx context.Context, folder, runsc, version string) (Driver, error) {
	if version == "" || strings.ContainsAny(version, "/ ") {
		return Driver{}, fmt.Errorf("%w: the driver calls itself version %q", ErrDriver, version)
	}
	if err := Check(ctx, runsc, version); err != nil {
		return Driver{}, err
	}
	home := filepath.Join(folder, version)
	d := Driver{Version: version, Spec: filepath.Join(home, "nvidia.json"), Links: filepath.Join(home, "links")}
	raw, err := generate(ctx)
	if err != nil {
		return Driver{}, err
	}
	spec, err := parse(raw)
	if err != nil {
		return Driver{}, err
	}
	if err := matches(spec, version); err != nil {
		return Driver{}, err
	}
	if err := removeOthers(folder, version); err != nil {
		return Driver{}, fmt.Errorf("%w: %w", ErrToolkit, err)
	}
	if err := os.MkdirAll(d.Links, 0o755); err != nil {
		return Driver{}, fmt.Errorf("%w: %w", ErrToolkit, err)
	}
	if err := link(d.Links, spec); err != nil {
		return Driver{}, fmt.Errorf("%w: %w", ErrToolkit, err)
	}
	return d, atomicfile.Write(d.Spec, raw)
}

// matches refuses libraries of another version than the driver that runs: programs that load them get no GPU.
func matches(spec *cdi.Spec, version string) error {
	for _, m := range spec.ContainerEdits.Mounts {
		if m == nil {
			continue
		}
		if of, found := strings.CutPrefix(path.Base(m.ContainerPath), "libcuda.so."); found && strings.Contains(of, ".") && of != version {
			return fmt.Errorf("%w: the driver that runs has version %s, and its libraries %s: restart the machine", ErrToolkit, version, of)
		}
	}
	return nil
}

// removeOthers removes what was made for other versions.
func removeOthers(folder, version string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != version {
			if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// generate asks NVIDIA's toolkit.
func generate(ctx context.Context) ([]byte, error) {
	toolkit, err := exec.LookPath("nvidia-ctk")
	if err != nil {
		return nil, fmt.Errorf("%w: nvidia-ctk is not in PATH; install the package nvidia-container-toolkit", ErrToolkit)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, toolkit, "cdi", "generate", "--format=json", "--device-name-strategy=uuid").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr[max(0, len(exit.Stderr)-500):])))
		}
		return nil, fmt.Errorf("%w: nvidia-ctk cdi generate: %w", ErrToolkit, err)
	}
	return out, nil
}

func load(path string) (*cdi.Spec, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return parse(raw)
}

func parse(raw []byte) (*cdi.Spec, error) {
	var s cdi.Spec
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if s.Kind != "nvidia.com/gpu" || len(s.Devices) == 0 {
		return nil, fmt.Errorf("%w: it is of %q and has %d devices", ErrSpec, s.Kind, len(s.Devices))
	}
	return &s, nil
}
