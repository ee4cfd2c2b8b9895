package faults

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// Fault is an error that the driver has reported of a device.
type Fault struct {
	// GPU is the device's index, and Code the driver's Xid.
	GPU  int
	Code uint64
}

// Class returns whose fault it is.
func (f Fault) Class() Class { return ClassOf(f.Code) }

func (f Fault) String() string { return fmt.Sprintf("GPU %d: %s", f.GPU, Describe(f.Code)) }

// maxFaults bounds what is held; there are fewer codes in the classes, for each of at most 64 devices.
const maxFaults = 4096

// Standing are the faults of a machine's GPUs since the driver was loaded. Safe for use by several goroutines.
type Standing struct {
	buses map[Bus]int
	log   zerolog.Logger

	mu     sync.Mutex
	faults []Fault // in the order of devices and codes
}

// New watches over devices by their places; the index is the device's.
func New(buses []string, log zerolog.Logger) *Standing {
	s := &Standing{buses: map[Bus]int{}, log: log}
	for i, name := range buses {
		if b, ok := ParseBus(name); ok {
			s.buses[b] = i
		}
	}
	return s
}

// Note notes an error of the driver. One of a device that is not the node's, or that was noted before, changes nothing.
func (s *Standing) Note(bus Bus, code uint64) {
	gpu, ok := s.buses[bus]
	if !ok {
		return
	}
	f := Fault{GPU: gpu, Code: code}
	s.mu.Lock()
	at, found := slices.BinarySearchFunc(s.faults, f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Code, b.Code))
	})
	fresh := !found && len(s.faults) < maxFaults
	if fresh {
		s.faults = slices.Insert(s.faults, at, f)
	}
	s.mu.Unlock()
	if !fresh {
		return
	}
	e := s.log.Warn()
	if f.Class() == Broken {
		e = s.log.Error()
	}
	e.Int("gpu", gpu).Uint64("xid", code).Str("class", f.Class().String()).Msg("the driver reports an error: " + Describe(code))
}

// Clear forgets all faults: the driver was loaded anew.
func (s *Standing) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// All returns the faults of a class, by device.
func (s *Standing) All(class Class) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Fault
	for _, f := range s.faults {
		if f.Class() == class {
			out = append(out, f)
		}
	}
	return out
}

// Broken returns the code of a device's first fault of the hardware, or 0.
func (s *Standing) Broken(gpu int) uint64 {
	for _, f := range s.All(Broken) {
		if f.GPU == gpu {
			return f.Code
		}
	}
	return 0
}

// Of returns what concerns a lease of the devices in a mask.
func (s *Standing) Of(mask uint64) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Fault
	for _, f := range s.faults {
		if f.GPU < 64 && mask>>f.GPU&1 == 1 && f.Class() != Unclassified {
			out = append(out, f)
		}
	}
	return out
}
