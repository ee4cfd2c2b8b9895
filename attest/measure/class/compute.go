package class

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrCompute: the text is not a compute capability.
var ErrCompute = errors.New("no compute capability")

// Compute is a compute capability of CUDA, which says what code a GPU runs: 100 × major + minor. Source: "CUDA GPU Compute
// Capability", developer.nvidia.com/cuda-gpus.
type Compute uint16

// ParseCompute reads MAJOR.MINOR or MAJOR, such as "8.9". Error: ErrCompute.
func ParseCompute(text string) (Compute, error) {
	major, minor, found := strings.Cut(text, ".")
	if !found {
		minor = "0"
	}
	a, err := strconv.ParseUint(major, 10, 8)
	b, berr := strconv.ParseUint(minor, 10, 8)
	if err != nil || berr != nil || a == 0 || b > 99 {
		return 0, fmt.Errorf("%w: %q; write it such as 8.9", ErrCompute, text)
	}
	return Compute(100*a + b), nil
}

// String is the capability as NVIDIA writes it.
func (c Compute) String() string { return fmt.Sprintf("%d.%d", c/100, c%100) }

// MarshalText is String.
func (c Compute) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseCompute.
func (c *Compute) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCompute(string(text))
	return err
}
