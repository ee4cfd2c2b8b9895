package faults

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Class says whose fault an error of the driver is.
type Class uint8

// Classes. The driver knows some two hundred codes; one that is in no class is logged, and nothing follows from it.
const (
	// Unclassified errors are of the driver, or have many causes.
	Unclassified Class = iota
	// Job errors come from programs: the device is as good as before.
	Job
	// Worn hardware has repaired or contained an error. It goes on working, and may need service.
	Worn
	// Broken hardware does not compute, or not reliably, until it is reset, repaired or replaced.
	Broken
)

func (c Class) String() string {
	switch c {
	case Job:
		return "of the job"
	case Worn:
		return "of worn hardware"
	case Broken:
		return "of the hardware"
	}
	return "not classified"
}

// xid is a code of the driver's errors.
type xid struct {
	class Class
	what  string
}

// xids are the codes that something follows from, after NVIDIA's catalog
// (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): restart the application is Job, reset or replace
// is Broken. A job cannot bring about one that is Broken here by what it asks of the device; 45 and 109, which follow other
// errors, 63, 92 and 94, after which the device goes on, and 137, a program's access over NVLink, are not.
var xids = map[uint64]xid{
	8:   {Job, "the GPU stopped processing"},
	11:  {Job, "invalid commands"},
	13:  {Job, "exception in a program"},
	31:  {Job, "access to memory that a program does not have"},
	32:  {Job, "invalid commands"},
	43:  {Job, "a program's channel was stopped"},
	45:  {Job, "a program was cleaned up"},
	68:  {Job, "exception of the video decoder"},
	69:  {Job, "invalid commands"},
	109: {Job, "a program did not yield the GPU"},
	137: {Job, "access over an NVLink to memory that a program does not have"},

	63:  {Worn, "a bad part of the memory will be replaced at the next reset"},
	92:  {Worn, "many corrected memory errors"},
	94:  {Worn, "a memory error that was contained"},
	144: {Worn, "error of the NVLinks"},
	145: {Worn, "error of the NVLinks"},
	146: {Worn, "error of the NVLinks"},
	147: {Worn, "error of the NVLinks"},
	148: {Worn, "error of the NVLinks"},
	150: {Worn, "error of the NVLinks"},
	157: {Worn, "a bad part of the GPU could not be retired"},

	46:       {Broken, "the GPU stopped processing and needs a reset"},
	48:       {Broken, "a memory error that cannot be corrected"},
	62:       {Broken, "the GPU's own controller halted"},
	lasting:  {Broken, "a bad part of the memory could not be replaced"},
	74:       {Broken, "error of an NVLink"},
	79:       {Broken, "the GPU has fallen off the bus"},
	95:       {Broken, "a memory error that was not contained"},
	110:      {Broken, "a fault of the GPU's security"},
	119:      {Broken, "the GPU's system processor does not answer"},
	120:      {Broken, "error of the GPU's system processor"},
	136:      {Broken, "an NVLink could not be trained"},
	140:      {Broken, "a memory error that was not recovered"},
	143:      {Broken, "the GPU could not be initialised"},
	149:      {Broken, "an NVLink is down"},
	recovery: {Broken, "the driver asks for help"},
	155:      {Broken, "an NVLink was shut down"},
	156:      {Broken, "a bad part of the GPU was retired, and the GPU needs a reset"},
	158:      {Broken, "the GPU did not answer in time"},
}

const (
	// recovery is the code by which the driver says what it needs for a GPU, None among it.
	recovery = 154
	// lasting is a fault that no reset mends.
	lasting = 64
)

// links are the errors of NVLinks of which the driver says whether they are fatal. Only then does the GPU need a reset.
var links = map[uint64]bool{144: true, 145: true, 146: true, 147: true, 148: true, 149: true, 150: true}

// ClassOf returns the class of a code of which nothing else is known.
func ClassOf(code uint64) Class { return xids[code].class }

// Describe says for people what a code means.
func Describe(code uint64) string {
	if x, ok := xids[code]; ok {
		return fmt.Sprintf("Xid %d, %s", code, x.what)
	}
	return fmt.Sprintf("Xid %d", code)
}

// Bus is a device's place, as the kernel's log and NVML both name it; the function is left out.
type Bus struct {
	Domain      uint32
	Bus, Device uint8
}

// ParseBus reads "00000000:3B:00.0", "0000:3b:00" and the like.
func ParseBus(s string) (Bus, bool) {
	s, _, _ = strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return Bus{}, false
	}
	domain, err1 := strconv.ParseUint(parts[0], 16, 32)
	bus, err2 := strconv.ParseUint(parts[1], 16, 8)
	device, err3 := strconv.ParseUint(parts[2], 16, 8)
	return Bus{uint32(domain), uint8(bus), uint8(device)}, err1 == nil && err2 == nil && err3 == nil
}

// report is a message of the driver about a device.
type report struct {
	bus  Bus
	code uint64
	// severity is what the driver says of an NVLink's error.
	severity severity
	// action is what the driver needs from now on; of code 154 only.
	action Action
}

type severity uint8

const (
	unsaid severity = iota
	fatal
	notFatal
)

var (
	// message is "NVRM: Xid (PCI:0000:3b:00): 79, pid=…"; older drivers write no "PCI:".
	message = regexp.MustCompile(`^NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): ([0-9]{1,9})\b(.*)`)
	// changed is how code 154 goes on. The words for a number differ from driver to driver.
	changed = regexp.MustCompile(`^, GPU recovery action changed from 0x[0-9a-fA-F]+ \([^)]*\) to 0x([0-9a-fA-F]{1,8}) \(`)
	// severe is how errors of NVLinks go on: ", RLW_SRC_TRACK Nonfatal XC1 i0 Link 08 (…)".
	severe = regexp.MustCompile(`^, [A-Z0-9_]+ +(Fatal|Nonfatal)\b`)
)

// parse reads a message of the kernel's log. Code 154 without an action that can be read says nothing.
func parse(line string) (r report, ok bool) {
	m := message.FindStringSubmatch(line)
	if m == nil {
		return r, false
	}
	if r.bus, ok = ParseBus(m[1]); !ok {
		return r, false
	}
	var err error
	if r.code, err = strconv.ParseUint(m[2], 10, 64); err != nil {
		return r, false
	}
	if kind := severe.FindStringSubmatch(m[3]); links[r.code] && kind != nil {
		r.severity = notFatal
		if kind[1] == "Fatal" {
			r.severity = fatal
		}
	}
	if r.code == recovery {
		to := changed.FindStringSubmatch(m[3])
		if to == nil {
			return r, false
		}
		n, err := strconv.ParseUint(to[1], 16, 32)
		r.action = Action(n)
		return r, err == nil
	}
	return r, true
}

// loads opens the message of a driver that is loaded: what was wrong before is over, or will be found again.
const loads = "NVRM: loading NVIDIA"
