package tpm

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"sort"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/attest"
)

const (
	// pcrCount is how many PCRs a PC Client TPM has.
	pcrCount = 24
	pcrSize  = sha256.Size
)

// Selection is a set of PCRs of the SHA-256 bank: bit i stands for PCR i.
type Selection uint32

// Select is the set of the given PCRs. Those that no TPM has are left out.
func Select(pcrs ...int) Selection {
	var s Selection
	for _, i := range pcrs {
		if i >= 0 && i < pcrCount {
			s |= 1 << i
		}
	}
	return s
}

// Selections with a meaning.
const (
	// FirmwarePCRs is 0 to 7: firmware, its options and configuration, boot loader, Secure Boot.
	FirmwarePCRs Selection = 0xff
	// DefaultSelection is what is quoted when nothing else is asked for: firmware, boot loader and kernel (8, 9, 11 to
	// 14). Not 10, which the kernel's integrity measurements change all the time, and nothing above.
	DefaultSelection Selection = 0x7bff
)

// Has reports whether the PCR is in the set.
func (s Selection) Has(pcr int) bool { return pcr >= 0 && pcr < pcrCount && s&(1<<pcr) != 0 }

// List is the PCRs by rising index.
func (s Selection) List() []int {
	list := make([]int, 0, bits.OnesCount32(uint32(s)))
	for i := range pcrCount {
		if s.Has(i) {
			list = append(list, i)
		}
	}
	return list
}

func (s Selection) String() string {
	if s == 0 {
		return "none"
	}
	var parts []string
	for i := 0; i < pcrCount; i++ {
		if !s.Has(i) {
			continue
		}
		first := i
		for s.Has(i + 1) {
			i++
		}
		if i == first {
			parts = append(parts, strconv.Itoa(i))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, i))
		}
	}
	return strings.Join(parts, ",")
}

// Bitmap is the pcrSelect field of a TPMS_PCR_SELECTION.
func (s Selection) Bitmap() []byte { return []byte{byte(s), byte(s >> 8), byte(s >> 16)} }

// PCRs are values of PCRs in the SHA-256 bank.
type PCRs map[int][pcrSize]byte

// ParsePCRs reads [ItemPCRs] for a selection.
func ParsePCRs(s Selection, data []byte) (PCRs, error) {
	list := s.List()
	if len(data) != len(list)*pcrSize {
		return nil, fmt.Errorf("%s: %d bytes for the %d PCRs %s: %w", ItemPCRs, len(data), len(list), s, attest.ErrMalformed)
	}
	p := make(PCRs, len(list))
	for i, pcr := range list {
		p[pcr] = [pcrSize]byte(data[i*pcrSize:])
	}
	return p, nil
}

// Selection is the set of PCRs that have a value here.
func (p PCRs) Selection() Selection {
	var s Selection
	for i := range p {
		s |= Select(i)
	}
	return s
}

// Encode is the form of [ItemPCRs].
func (p PCRs) Encode() []byte {
	var out []byte
	for _, i := range p.Selection().List() {
		v := p[i]
		out = append(out, v[:]...)
	}
	return out
}

// Digest is what a quote says of these values: the hash of one after the other.
func (p PCRs) Digest() [32]byte { return sha256.Sum256(p.Encode()) }

// Allowed lists the values that a policy accepts, by PCR.
type Allowed map[int][][pcrSize]byte

// check returns the PCRs that it covers, or what is wrong.
func (a Allowed) check(p PCRs) ([]int, error) {
	list := make([]int, 0, len(a))
	for i := range a {
		list = append(list, i)
	}
	sort.Ints(list)
	for _, i := range list {
		value, quoted := p[i]
		if !quoted {
			return nil, fmt.Errorf("PCR %d has accepted values and is not quoted", i)
		}
		found := false
		for _, v := range a[i] {
			found = found || v == value
		}
		if !found {
			return nil, fmt.Errorf("PCR %d is %x, which is none of the %d accepted values", i, value, len(a[i]))
		}
	}
	return list, nil
}
