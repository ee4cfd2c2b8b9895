package faults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Fault is an error that the driver has reported of a device.
type Fault struct {
	// GPU is the device's index, and Code the driver's Xid, or [messages.NoAnswer].
	GPU  int
	Code uint64
	// Fatal and Harmless: the driver calls the error of an NVLink fatal, or not.
	Fatal, Harmless bool
	// Detail is what the driver needs, or why the device does not answer.
	Detail string
}

// Class returns whose fault it is.
func (f Fault) Class() Class {
	switch {
	case f.Code == messages.NoAnswer, f.Fatal:
		return Broken
	case f.Harmless:
		return Worn
	}
	return ClassOf(f.Code)
}

func (f Fault) String() string {
	switch f.Code {
	case messages.NoAnswer:
		return fmt.Sprintf("GPU %d: does not answer: %s", f.GPU, f.Detail)
	case recovery:
		return fmt.Sprintf("GPU %d: Xid %d, the driver needs %s", f.GPU, f.Code, f.Detail)
	}
	return fmt.Sprintf("GPU %d: %s", f.GPU, Describe(f.Code))
}

// Next says what a person does about it.
func (f Fault) Next() string {
	switch f.Code {
	case messages.NoAnswer:
		return fmt.Sprintf("reset it (sudo nvidia-smi -i %d -r) or restart the machine; if that does not help: gantry-agent report-dead", f.GPU)
	case recovery:
		return "it ends when the driver needs nothing any more"
	}
	return "once it is repaired: gantry-agent repaired"
}

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

// note notes a report of the driver. One of a device that is not the node's, or that was noted before, changes nothing.
func (s *Standing) note(r report) {
	gpu, ok := s.buses[r.bus]
	if !ok {
		return
	}
	if r.code != recovery {
		s.put(Fault{GPU: gpu, Code: r.code, Fatal: r.severity == fatal, Harmless: r.severity == notFatal})
		return
	}
	if r.action == NoAction {
		s.mended(gpu)
		return
	}
	s.put(Fault{GPU: gpu, Code: recovery, Detail: r.action.String()})
}

// Needs notes what the driver needs for a device now. Nothing, after something, says that the device is mended.
func (s *Standing) Needs(gpu int, a Action) {
	if a != NoAction {
		s.put(Fault{GPU: gpu, Code: recovery, Detail: a.String()})
		return
	}
	s.mu.Lock()
	needed := slices.ContainsFunc(s.faults, func(f Fault) bool { return f.GPU == gpu && f.Code == recovery })
	s.mu.Unlock()
	if needed { // what the log has said a moment ago may not have reached the driver's own state
		s.mended(gpu)
	}
}

// Away notes which devices do not answer now, with the reason. All others do.
func (s *Standing) Away(why map[int]string) {
	s.mu.Lock()
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool {
		_, still := why[f.GPU]
		if f.Code == messages.NoAnswer && !still {
			s.log.Warn().Int("gpu", f.GPU).Msg("the GPU answers again")
			return true
		}
		return false
	})
	s.mu.Unlock()
	for _, gpu := range slices.Sorted(maps.Keys(why)) {
		s.put(Fault{GPU: gpu, Code: messages.NoAnswer, Detail: why[gpu]})
	}
}

// put holds a fault, in place of an older one of the same device and code that says something else.
func (s *Standing) put(f Fault) {
	s.mu.Lock()
	at, found := slices.BinarySearchFunc(s.faults, f, order)
	fresh := !found && len(s.faults) < maxFaults
	if fresh {
		s.faults = slices.Insert(s.faults, at, f)
	} else if found && s.faults[at] != f {
		s.faults[at], fresh = f, true
	}
	s.mu.Unlock()
	if !fresh {
		return
	}
	e := s.log.Warn()
	if f.Class() == Broken {
		e = s.log.Error()
	}
	e.Int("gpu", f.GPU).Uint64("xid", f.Code).Str("class", f.Class().String()).Msg("the driver reports an error: " + f.String())
}

// order sorts faults by device and code; one that is fatal is another than one that is not.
func order(a, b Fault) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Code, b.Code), cmp.Compare(rank(a), rank(b)))
}

func rank(f Fault) int {
	if f.Fatal {
		return 1
	}
	return 0
}

// mended forgets what a device has had: the driver needs nothing for it any more. What no reset mends stays.
func (s *Standing) mended(gpu int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.faults)
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool {
		return f.GPU == gpu && f.Class() == Broken && f.Code != lasting && f.Code != messages.NoAnswer
	})
	if len(s.faults) < before {
		s.log.Warn().Int("gpu", gpu).Msg("the driver needs nothing for the GPU any more; its faults are forgotten")
	}
}

// Clear forgets all faults: the driver was loaded anew, or somebody has repaired the devices. Whether they answer, and what the driver
// needs, is asked again.
func (s *Standing) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool { return f.Code != messages.NoAnswer })
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
