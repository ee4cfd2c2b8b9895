package nvgpu

import (
	"bytes"
	"fmt"
	"strings"
)

// nvdecIndex is the golden measurement of the video decoder NVDEC0, which says nothing where the decoder is disabled.
const nvdecIndex = 35

// Mismatch is a golden measurement that a report does not have.
type Mismatch struct {
	// Source is "driver" or "VBIOS".
	Source string
	Golden Golden
	// Measured is nil if the report has no such block.
	Measured []byte
}

// String gives the first eight bytes of each digest: enough to look them up.
func (m Mismatch) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "index %d (%s, %s): golden ", m.Golden.Index, m.Source, m.Golden.Name)
	for i, v := range m.Golden.Values {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(short(v))
	}
	if m.Measured == nil {
		return b.String() + ", not measured"
	}
	return b.String() + ", measured " + short(m.Measured)
}

func short(v []byte) string {
	if len(v) <= 8 {
		return fmt.Sprintf("%x", v)
	}
	return fmt.Sprintf("%x…", v[:8])
}

// Comparison is what comes of comparing a report with its manifests.
type Comparison struct {
	// Golden is how many active measurements the manifests have; Matched, how many of them the report has.
	Golden, Matched int
	// Skipped is a measurement that differs and does not count, because its decoder is disabled.
	Skipped []Mismatch
	// Mismatches are by ascending index. Empty if the GPU is in a state that NVIDIA vouches for.
	Mismatches []Mismatch
}

func (c Comparison) String() string {
	s := fmt.Sprintf("%d of %d golden measurements match", c.Matched, c.Golden)
	for _, m := range c.Mismatches {
		s += "; " + m.String()
	}
	for _, m := range c.Skipped {
		s += fmt.Sprintf("; index %d is not counted: NVDEC0 is disabled", m.Golden.Index)
	}
	return s
}

// Compare compares a report's measurements with the golden ones of its driver and its VBIOS. Two manifests with an
// active measurement of the same index contradict each other and are refused, whatever their values.
func Compare(r *Report, driver, vbios *RIM) (Comparison, error) {
	type entry struct {
		source string
		golden Golden
	}
	var merged [maxGolden]*entry
	for _, m := range []struct {
		source string
		rim    *RIM
	}{{"driver", driver}, {"VBIOS", vbios}} {
		for _, g := range m.rim.Golden {
			if !g.Active {
				continue
			}
			if merged[g.Index] != nil {
				return Comparison{}, malformed("manifests", "both have an active measurement with index %d", g.Index)
			}
			merged[g.Index] = &entry{m.source, g}
		}
	}
	status, has := r.Opaque.Status(FieldNVDEC0)
	disabled := has && status == StatusDisabled
	var c Comparison
	for _, e := range merged {
		if e == nil {
			continue
		}
		c.Golden++
		block, measured := r.Block(e.golden.Index + 1)
		if measured && e.golden.matches(block.Value) {
			c.Matched++
			continue
		}
		m := Mismatch{Source: e.source, Golden: e.golden, Measured: block.Value}
		if e.golden.Index == nvdecIndex && disabled {
			c.Skipped = append(c.Skipped, m)
		} else {
			c.Mismatches = append(c.Mismatches, m)
		}
	}
	return c, nil
}

func (g Golden) matches(value []byte) bool {
	for _, v := range g.Values {
		if bytes.Equal(v, value) {
			return true
		}
	}
	return false
}
