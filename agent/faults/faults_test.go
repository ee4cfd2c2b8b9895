package faults

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
)

func TestMessagesOfTheDriver(t *testing.T) {
	for message, want := range map[string]struct {
		bus  Bus
		code uint64
		ok   bool
	}{
		"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": {Bus{0, 0x3b, 0}, 79, true},
		"NVRM: Xid (PCI:0000:cb:00): 13, pid=4242, name=python3, Graphics SM Warp Exception":           {Bus{0, 0xcb, 0}, 13, true},
		"NVRM: Xid (0000:03:00): 14, Channel 00000001":                                                 {Bus{0, 3, 0}, 14, true},
		"NVRM: Xid (PCI:10000:81:1f.0): 48, pid=1":                                                     {Bus{0x10000, 0x81, 0x1f}, 48, true},
		"NVRM: GPU at PCI:0000:3b:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7":                        {},
		"python3[77]: NVRM: Xid (PCI:0000:3b:00): 79, a program may write this":                        {},
		"NVRM: Xid (PCI:zz:3b:00): 79":                                                                 {},
		"NVRM: Xid (PCI:0000:3b): 79":                                                                  {},
		"NVRM: Xid (PCI:0000:3b:00): 99999999999999999999":                                             {},
		"": {},
	} {
		r, ok := parse(message)
		require.Equal(t, want.ok, ok, message)
		if ok {
			require.Equal(t, want.bus, r.bus, message)
			require.Equal(t, want.code, r.code, message)
		}
	}
	kernel, _ := ParseBus("0000:3b:00")
	driver, ok := ParseBus("00000000:3B:00.0")
	require.True(t, ok)
	require.Equal(t, kernel, driver, "the two ways in which one place is written")
}

// pipe is a log that a test writes into.
func pipe(t *testing.T) (path string, write func(string)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kmsg")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return path, func(s string) {
		_, err := f.WriteString(s)
		require.NoError(t, err)
	}
}

func TestTheKernelsLogIsFollowed(t *testing.T) {
	path, write := pipe(t)
	var log bytes.Buffer
	s := New([]string{"0000:3b:00.0", "00000000:5E:00.0"}, zerolog.New(&log))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.FollowKernelLog(ctx, path, Repaired{Micros: 1000}) }()
	await := func(why string, cond func() bool) {
		t.Helper()
		require.Eventually(t, cond, time.Minute, 5*time.Millisecond, why)
	}

	write("4,1,999,-;NVRM: Xid (PCI:0000:3b:00): 48, before the repair\n")
	write("6,2,1001,-;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=;NVRM: Xid (PCI:0000:3b:00): 62, a property\n")
	write("4,3,1002,-;NVRM: Xid (PCI:0000:99:00): 79, a device that is not the node's\n")
	write("4,4,1003,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=7, MMU fault\n")
	write("4,5,1004,-;NVRM: Xid (PCI:0000:3b:00): 94, contained\n4,6,1005,-;NVRM: Xid (PCI:0000:3b:00): 1, unused\n")
	for range 3 {
		write("4,7,1006,-;NVRM: Xid (PCI:0000:5e:00): 79, fallen off the bus\n")
	}
	await("the second GPU's fault", func() bool { return s.Broken(1) == 79 })
	require.Equal(t, []Fault{{GPU: 1, Code: 79}}, s.All(Broken))
	require.Zero(t, s.Broken(0), "neither a job's error nor one that was contained breaks a device")
	require.Equal(t, []Fault{{GPU: 0, Code: 94}}, s.All(Worn))
	require.Equal(t, []Fault{{GPU: 0, Code: 31}, {GPU: 0, Code: 94}}, s.Of(1), "what the customer of the first GPU is told")
	require.Equal(t, 4, bytes.Count(log.Bytes(), []byte("\n")), "a line for each fault, not for each message: %s", &log)

	write("6,8,1007,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05\n")
	await("the driver was loaded anew", func() bool { return s.Broken(1) == 0 })
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// What the driver needs for a device makes it broken until the driver needs nothing.
func TestWhatTheDriverNeedsIsAFault(t *testing.T) {
	s := New([]string{"0000:3b:00.0", "0000:5e:00.0"}, zerolog.Nop())
	read := func(text string) {
		t.Helper()
		r, ok := parse("NVRM: Xid (PCI:0000:3b:00): " + text)
		require.True(t, ok, text)
		s.note(r)
	}
	for _, to := range []string{"0x1 (GPU Reset Required)", "0x1 (PF FLR)", "0x2 (Node Reboot Required)", "0x3 (Drain P2P)", "0x4 (Drain and Reset)"} {
		read("119, pid=7, name=python3, Timeout")
		read("154, GPU recovery action changed from 0x0 (None) to " + to)
		require.NotZero(t, s.Broken(0), to)
		require.Zero(t, s.Broken(1))
		require.Len(t, s.All(Broken), 2, "the last need counts")
		read("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
		require.Zero(t, s.Broken(0), "the driver needs nothing any more")
	}
	read("64, Row remapper error")
	read("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
	require.EqualValues(t, 64, s.Broken(0), "no reset mends that")
	for _, text := range []string{"154", "154, something else", "154, GPU recovery action changed from 0x0 (None) to 0xfffffffff (X)"} {
		_, ok := parse("NVRM: Xid (PCI:0000:3b:00): " + text)
		require.False(t, ok, text)
	}

	s.Needs(1, Reset) // as the device says it
	require.Equal(t, []Fault{{GPU: 1, Code: 154, Detail: "a reset of the GPU"}}, s.All(Broken)[1:])
	s.Clear()
	require.Zero(t, s.Broken(1))
	s.note(report{bus: Bus{0, 0x5e, 0}, code: 79})
	s.Needs(1, NoAction)
	require.EqualValues(t, 79, s.Broken(1), "the log may be ahead of the device's own state")
	s.Needs(1, Reboot)
	s.Needs(1, NoAction)
	require.Zero(t, s.Broken(1))
}

// Codes that NVIDIA's catalog has for newer devices; of an NVLink's error the driver says whether it is fatal.
func TestClassesOfNewerCodes(t *testing.T) {
	for text, want := range map[string]Class{
		"110, SEC_FAULT: _FUSE_POD": Broken, "136, NVLink: Link training failed for links 0x1 (0x0)": Broken, "137, NVLink FLA": Job,
		"155, NVLINK_SW_DEFINED": Broken, "156, Resource Retirement Event": Broken, "158, GPU Fatal Timeout": Broken,
		"144, SAW_MVB Fatal XC0 i0 Link -1 (0x00000001 0x1)": Broken, "144, SAW_MVB Nonfatal XC0 i0 Link -1 (0x1)": Worn,
		"145, RLW_SRC_TRACK  Nonfatal XC1 i0 Link 08 (0x1)": Worn, "145, RLW_REMAP Fatal XC1 i0 Link 08 (0x1)": Broken, "145": Worn,
		"149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 02 (0x1)": Broken, "149": Broken, "150, MSE_LOCAL_MAIN Nonfatal XC0": Worn, "150": Worn,
		"48, pid=1, name=Fatal": Broken, "13, X Fatal": Job, "500": Unclassified,
	} {
		s := New([]string{"0000:3b:00.0"}, zerolog.Nop())
		r, ok := parse("NVRM: Xid (PCI:0000:3b:00): " + text)
		require.True(t, ok, text)
		s.note(r)
		require.Len(t, s.faults, 1)
		require.Equal(t, want, s.faults[0].Class(), text)
	}
}

// A device that does not answer is broken for as long as it does not.
func TestADeviceThatDoesNotAnswerIsBroken(t *testing.T) {
	s := New([]string{"0000:3b:00.0", "0000:5e:00.0"}, zerolog.Nop())
	s.Away(map[int]string{1: "the GPU needs a reset"})
	require.Equal(t, messages.NoAnswer, s.Broken(1))
	require.Equal(t, "GPU 1: does not answer: the GPU needs a reset", s.All(Broken)[0].String())
	require.Contains(t, s.All(Broken)[0].Next(), "nvidia-smi -i 1 -r")
	s.Clear()
	require.NotZero(t, s.Broken(1), "nobody can say that it answers but the device")
	s.Away(nil)
	require.Zero(t, s.Broken(1))
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	s := New(nil, zerolog.Nop())
	require.ErrorIs(t, s.FollowKernelLog(t.Context(), filepath.Join(t.TempDir(), "none"), Repaired{}), os.ErrNotExist)
}

func TestEventsOfNVML(t *testing.T) {
	device := &mock.Device{
		RegisterEventsFunc: func(types uint64, _ nvml.EventSet) nvml.Return {
			require.Equal(t, uint64(nvml.EventTypeXidCriticalError), types)
			return nvml.SUCCESS
		},
		GetPciInfoFunc: func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{Bus: 0x3b}, nvml.SUCCESS },
	}
	waits := 0
	set := &mock.EventSet{
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
		WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
			switch waits++; waits {
			case 1:
				return nvml.EventData{}, nvml.ERROR_TIMEOUT
			case 2:
				return nvml.EventData{Device: device, EventType: nvml.EventTypeXidCriticalError, EventData: 95}, nvml.SUCCESS
			}
			return nvml.EventData{}, nvml.ERROR_GPU_IS_LOST
		},
	}
	n := &mock.Interface{
		EventSetCreateFunc:         func() (nvml.EventSet, nvml.Return) { return set, nvml.SUCCESS },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(int) (nvml.Device, nvml.Return) { return device, nvml.SUCCESS },
	}
	s := New([]string{"00000000:3B:00.0"}, zerolog.Nop())
	require.ErrorIs(t, s.FollowEvents(t.Context(), n), ErrEvents, "it ends when the driver does")
	require.Equal(t, uint64(95), s.Broken(0))
	require.Len(t, set.FreeCalls(), 1)
}

func TestRepairedIsOfThisRunOfTheMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repaired.json")
	none, err := ReadRepaired(path)
	require.NoError(t, err)
	require.Zero(t, none)
	now, err := RepairedNow()
	require.NoError(t, err)
	require.Positive(t, now.Micros)
	require.NoError(t, now.Write(path))
	read, err := ReadRepaired(path)
	require.NoError(t, err)
	require.Equal(t, now, read)
	require.NoError(t, Repaired{Boot: "another", Micros: 5}.Write(path))
	read, err = ReadRepaired(path)
	require.NoError(t, err)
	require.Zero(t, read, "another run's clock says nothing")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = ReadRepaired(path)
	require.Error(t, err)
}

// FuzzMessages: whatever stands in the log, reading it ends without a panic and a place is one that was written.
func FuzzMessages(f *testing.F) {
	f.Add("NVRM: Xid (PCI:0000:3b:00): 79, pid=1")
	f.Add("4,5,6,-;NVRM: loading NVIDIA")
	f.Fuzz(func(t *testing.T, message string) {
		if r, ok := parse(message); ok && r.code > 999_999_999 {
			t.Fatalf("%q: code %d", message, r.code)
		}
		micros(message)
	})
}
