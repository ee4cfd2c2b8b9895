package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/sdk/messages"
)

// mute answers for one device with an error; as the driver's library, it returns a device nevertheless.
type mute struct {
	nvml.Interface
	index int
	ret   nvml.Return
}

func (mute) simulated() bool { return true }

func (m *mute) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	d, ret := m.Interface.DeviceGetHandleByIndex(i)
	if i == m.index {
		ret = m.ret
	}
	return d, ret
}

func (m *mute) DeviceGetHandleByUUID(uuid string) (nvml.Device, nvml.Return) {
	d, ret := m.Interface.DeviceGetHandleByUUID(uuid)
	if at, ok := m.Interface.DeviceGetHandleByIndex(m.index); ok == nvml.SUCCESS && at == d && m.ret != nvml.SUCCESS {
		return nil, m.ret
	}
	return d, ret
}

// An error that the driver has for one device is that device's: the machine still knows, claims and reads the others.
func TestOneGPUsErrorIsItsOwn(t *testing.T) {
	for _, ret := range []nvml.Return{
		nvml.ERROR_UNKNOWN, nvml.ERROR_RESET_REQUIRED, nvml.ERROR_IRQ_ISSUE, nvml.ERROR_GPU_NOT_FOUND, nvml.ERROR_NO_PERMISSION,
	} {
		m := newMachine(t, Source{Simulated: true, Model: SimulatedH100, Count: 3})
		whole, err := m.Claim(t.Context())
		require.NoError(t, err)
		n := &mute{Interface: m.nvml, index: 2, ret: ret}
		m.gpus.n = n

		gone, err := m.Gone(t.Context())
		require.NoError(t, err, ret)
		require.Len(t, gone, 1)
		require.Equal(t, 2, gone[0].Index)
		require.True(t, gone[0].Silent)
		require.Contains(t, gone[0].Reason(), "SIMULATED NVIDIA H100 80GB HBM3: ")
		readings, err := m.Readings(t.Context())
		require.NoError(t, err, ret)
		require.Equal(t, []bool{false, false, true}, []bool{readings[0].Silent != "", readings[1].Silent != "", readings[2].Silent != ""})
		use, err := m.Use(t.Context(), 0b011)
		require.NoError(t, err, ret)
		require.False(t, use[0].Missing || use[1].Missing)
		require.EqualValues(t, 700_000, *use[0].PowerLimitMW, "the limit in force")
		who, err := m.UsedBy(t.Context(), 0b111, func(uint32) bool { return false })
		require.NoError(t, err, ret)
		require.Empty(t, who)
		list, err := m.gpus.List(t.Context())
		require.ErrorIs(t, err, ErrNVML)
		require.Len(t, list, 2)
		readings, err = m.gpus.Readings(t.Context())
		require.NoError(t, err, ret)
		require.Len(t, readings, 3)
		require.NotEmpty(t, readings[2].Silent)
		require.Empty(t, readings[0].Silent+readings[1].Silent)
		claim, err := m.Claim(t.Context())
		require.NoError(t, err, ret)
		require.Equal(t, whole.Device, claim.Device, "it is the same machine")
		require.Equal(t, []uint64{0, 0, messages.NoAnswer}, []uint64{claim.GPUs[0].Fault, claim.GPUs[1].Fault, claim.GPUs[2].Fault})

		n.ret = nvml.SUCCESS
		again, err := m.Claim(t.Context())
		require.NoError(t, err)
		require.Equal(t, whole.Device, again.Device)
		require.Zero(t, again.GPUs[2].Fault)
	}
}

// A machine has GPUs, or a sentence that says why it has none; a device that cannot be rented out is named.
func TestGPUsOrAStatement(t *testing.T) {
	detect := func(count int, change func(*mock.Device)) Inventory {
		n, err := Simulate(SimulatedH100, count, [32]byte{1})
		require.NoError(t, err)
		d, ret := n.DeviceGetHandleByIndex(count - 1)
		require.Equal(t, nvml.SUCCESS, ret)
		change(d.(*mock.Device))
		inv, err := Detect(t.Context(), DetectOptions{DiskPath: t.TempDir(), NVML: n})
		require.NoError(t, err)
		return inv
	}
	unified := func(d *mock.Device) {
		d.GetNameFunc = func() (string, nvml.Return) { return "NVIDIA GB10", nvml.SUCCESS }
		d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED }
	}
	inv := detect(2, unified)
	require.Len(t, inv.GPUs, 1)
	require.Empty(t, inv.GPUStatement)
	require.Equal(t, []string{"GPU 1, NVIDIA GB10, has no memory of its own that the driver reports; the market does not know such GPUs"}, inv.Silent)
	inv = detect(1, unified)
	require.Empty(t, inv.GPUs)
	require.Contains(t, inv.GPUStatement, "NVIDIA GB10, has no memory of its own")
	inv = detect(1, func(d *mock.Device) {
		d.GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN }
	})
	require.Empty(t, inv.GPUs)
	require.Contains(t, inv.GPUStatement, "GPU 0, SIMULATED NVIDIA H100 80GB HBM3, does not answer: UUID: unknown error")
}

// What the driver needs for a device is asked of the device.
func TestWhatTheDriverNeeds(t *testing.T) {
	m := newMachine(t, Source{Simulated: true, Model: SimulatedH100, Count: 3})
	needs, err := m.Needs(t.Context())
	require.NoError(t, err)
	require.Empty(t, needs, "these do not say it")
	for i, action := range []nvml.DeviceGpuRecoveryAction{nvml.GPU_RECOVERY_ACTION_NONE, nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET} {
		d, ret := m.nvml.DeviceGetHandleByIndex(i)
		require.Equal(t, nvml.SUCCESS, ret)
		d.(*mock.Device).GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
			require.EqualValues(t, nvml.FI_DEV_GET_GPU_RECOVERY_ACTION, values[0].FieldId)
			values[0].Value[0] = byte(action)
			return nvml.SUCCESS
		}
	}
	needs, err = m.Needs(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[int]faults.Action{0: faults.NoAction, 1: faults.DrainAndReset}, needs)
	m.gpus.n = &mute{Interface: m.nvml, index: 1, ret: nvml.ERROR_UNKNOWN}
	needs, err = m.Needs(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[int]faults.Action{0: faults.NoAction}, needs)
}

// A machine that starts again while one of its GPUs does not answer is the machine that it was; with other devices it is not.
func TestAMachineIsKnownByTheGPUsThatItHad(t *testing.T) {
	inventory := func(silent int, uuids ...string) Inventory {
		var i Inventory
		for _, uuid := range uuids {
			i.GPUs = append(i.GPUs, GPU{UUID: uuid})
		}
		i.Silent, i.GPUStatement = make([]string, silent), "none"
		return i
	}
	file := filepath.Join(t.TempDir(), "inventory.json")
	none, err := remembered(file)
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, (&Machine{Inventory: inventory(0, "a", "b", "c")}).Remember(file))
	known, err := remembered(file)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		now   Inventory
		whole bool
	}{
		"one does not answer": {inventory(1, "a", "c"), true},
		"none answers":        {inventory(3), true},
		"one is not listed":   {inventory(0, "a", "c"), false},
		"another one":         {inventory(1, "a", "x"), false},
		"one more":            {inventory(1, "a", "b", "c"), false},
	} {
		before := len(c.now.GPUs)
		c.now.recall(known)
		if !c.whole {
			require.Len(t, c.now.GPUs, before, name)
			continue
		}
		require.Equal(t, known, c.now.GPUs, name)
		require.Empty(t, c.now.GPUStatement)
	}
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = remembered(file)
	require.Error(t, err)
}
