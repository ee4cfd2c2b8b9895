package service

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Size is a number of bytes as docker writes it: 16g, 512m, 1.5GiB, or bytes without a unit. Units are powers of 1,024. It is a value
// of a flag.
type Size uint64

// units are exponents of 1,024 by the first letter of a unit.
var units = map[byte]int{'k': 1, 'm': 2, 'g': 3, 't': 4}

// Set reads a size. Error: why the text is not one.
func (s *Size) Set(text string) error {
	number := strings.TrimRight(strings.ToLower(text), "kmgtib")
	unit := strings.ToLower(text)[len(number):]
	power := 0
	if unit != "" && unit != "b" {
		first := unit[0]
		if rest := unit[1:]; units[first] == 0 || rest != "" && rest != "b" && rest != "ib" {
			return fmt.Errorf("%q is not a size: write it as 16g or 512m", text)
		}
		power = units[first]
	}
	factor := uint64(1) << (10 * power)
	if n, err := strconv.ParseUint(number, 10, 64); err == nil {
		if unit == "" && n > 0 && n < 1<<20 {
			return fmt.Errorf("%q are bytes: write it as %sg or %sm", text, text, text)
		}
		high, low := bits.Mul64(n, factor)
		if high != 0 {
			return fmt.Errorf("%q is too large", text)
		}
		*s = Size(low)
		return nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= 0 && f*float64(factor) < 1<<63) { // NaN is not
		return fmt.Errorf("%q is not a size: write it as 16g or 512m", text)
	}
	*s = Size(f * float64(factor))
	return nil
}

// String is the size as text; empty for none.
func (s *Size) String() string {
	if s == nil || *s == 0 {
		return ""
	}
	return fmt.Sprintf("%d MiB", s.MiB())
}

// MiB is the size in MiB, rounded up.
func (s *Size) MiB() uint64 { return (uint64(*s) + 1<<20 - 1) >> 20 }
