package market

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CUDA is a version of CUDA as accounts have it: 100 × major + minor, so that 1204 is 12.4. 0 is none.
type CUDA uint16

// ErrCUDA: the text is not a version of CUDA.
var ErrCUDA = errors.New("no version of CUDA")

// ParseCUDA reads MAJOR, MAJOR.MINOR or a longer version, whose rest is ignored: a driver of 12.8 runs all of 12.8. Error: ErrCUDA.
func ParseCUDA(text string) (CUDA, error) {
	major, rest, found := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if !found {
		minor = "0"
	}
	a, err := strconv.ParseUint(major, 10, 16)
	b, berr := strconv.ParseUint(minor, 10, 16)
	if err != nil || berr != nil || a == 0 || a > 600 || b > 99 {
		return 0, fmt.Errorf("%w: %q; write it such as 12.8", ErrCUDA, text)
	}
	return CUDA(100*a + b), nil
}

// String is the version as NVIDIA writes it; empty for none.
func (c CUDA) String() string {
	if c == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", c/100, c%100)
}
