package host

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
)

func models() []market.Model {
	model := func(id uint16, name string, vram uint32) (m market.Model) {
		m.Id, m.Name, m.VramMib = id, market.Text32(name), vram
		return m
	}
	return []market.Model{
		model(1, "A100-SXM4-40GB", 40_960), model(2, "H100-SXM5-80GB", 81_920),
		model(3, "A100-SXM4-80GB", 81_920), model(4, "L40", 49_152),
	}
}

func newMachine(t *testing.T, source Source) *Machine {
	t.Helper()
	m, err := New(t.Context(), Options{Source: source, Seed: [32]byte{7}, DiskPath: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func TestMachinesWithSimulatedGPUs(t *testing.T) {
	for source, want := range map[Source]uint16{
		{Simulated: true, Model: SimulatedA100, Count: 2}: 1,
		{Simulated: true, Model: SimulatedH100, Count: 8}: 2,
	} {
		m := newMachine(t, source)
		model, err := m.Model(models())
		require.NoError(t, err)
		require.Equal(t, want, model.Id, source)
		spec := m.Spec(model, "us-west-2", "rack-1")
		require.EqualValues(t, len(m.Inventory.GPUs), spec.Gpus)
		require.EqualValues(t, 1, spec.Simulated)
		require.EqualValues(t, market.NVLink, spec.Interconnect)
		require.InEpsilon(t, float64(model.VramMib), float64(spec.VramMib), 0.06)
		require.NotZero(t, spec.CpuCores)
		require.NotZero(t, spec.RamMib)
		require.Equal(t, "us-west-2", market.Text(spec.Region[:]))

		claim, err := m.Claim(t.Context())
		require.NoError(t, err)
		require.True(t, claim.Simulated)
		require.Len(t, claim.GPUs, int(spec.Gpus))
		require.Equal(t, m.Inventory.DeviceRoot(), claim.Device)
		for i, id := range m.Devices() {
			require.Equal(t, id, claim.GPUs[i].Identity)
			require.Contains(t, claim.GPUs[i].Name, "SIMULATED")
		}
	}
}

func TestModelErrors(t *testing.T) {
	m := newMachine(t, Source{Simulated: true, Model: SimulatedA100, Count: 1})
	_, err := m.Model(nil)
	require.ErrorIs(t, err, ErrUnknownModel)
	_, err = m.Model(models()[2:3]) // the same family with other memory is another model
	require.ErrorIs(t, err, ErrUnknownModel)
	m.Inventory.GPUs = append(m.Inventory.GPUs, GPU{Model: "NVIDIA L40"})
	_, err = m.Model(models())
	require.ErrorIs(t, err, ErrMixed)
	m.Inventory.GPUs = nil
	_, err = m.Model(models())
	require.ErrorIs(t, err, ErrNoGPUs)
}

// A GPU in MIG mode, or an instance of one, is refused before it is registered, and keepers are told of it afterwards.
func TestSplitGPUsAreNone(t *testing.T) {
	m := newMachine(t, Source{Simulated: true, Model: SimulatedH100, Count: 2})
	_, err := m.Model(models())
	require.NoError(t, err)
	device, ret := m.nvml.DeviceGetHandleByIndex(1)
	require.Equal(t, nvml.SUCCESS, ret)
	device.(*mock.Device).GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS }
	claim, err := m.Claim(t.Context())
	require.NoError(t, err)
	require.False(t, claim.GPUs[0].MIG)
	require.True(t, claim.GPUs[1].MIG)
	m.Inventory.GPUs, err = m.gpus.List(t.Context())
	require.NoError(t, err)
	_, err = m.Model(models())
	require.ErrorIs(t, err, ErrSplit)
	require.ErrorContains(t, err, "nvidia-smi -i 1 -mig 0")
	m.Inventory.GPUs = []GPU{{Model: "NVIDIA H100 80GB HBM3", UUID: "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", VRAMMiB: 81_559}}
	_, err = m.Model(models())
	require.ErrorIs(t, err, ErrSplit)
}

// Real names as nvidia-smi prints them.
func TestRealNames(t *testing.T) {
	for name, c := range map[string]struct {
		vram uint64
		want uint16
	}{
		"NVIDIA A100-SXM4-40GB": {40_536, 1}, "NVIDIA A100-SXM4-80GB": {81_251, 3}, "NVIDIA H100 80GB HBM3": {81_559, 2}, "NVIDIA L40": {46_068, 4}, "NVIDIA RTX A1000": {40_960, 0},
	} {
		m := &Machine{Inventory: Inventory{GPUs: []GPU{{Model: name, VRAMMiB: c.vram}}}}
		model, err := m.Model(models())
		if c.want == 0 {
			require.ErrorIs(t, err, ErrUnknownModel, name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, model.Id, name)
	}
}

// This machine, whatever it has: no error, and a reason where there are no GPUs.
func TestThisMachinesClaim(t *testing.T) {
	m := newMachine(t, Source{})
	claim, err := m.Claim(t.Context())
	require.NoError(t, err)
	require.False(t, claim.Simulated)
	if len(m.Inventory.GPUs) == 0 {
		require.NotEmpty(t, m.Inventory.GPUStatement)
	}
}

func TestNewNeedsADiskPath(t *testing.T) {
	_, err := New(t.Context(), Options{})
	require.ErrorContains(t, err, "disk path")
}

// Every class of the table can be registered: its device, with the memory that its driver shows, is of its own model
// among all of them.
func TestEveryClassFindsItsModel(t *testing.T) {
	m := newMachine(t, Source{Simulated: true, Model: SimulatedH100, Count: 1})
	all := class.GPUs().Classes
	var known []market.Model
	for i, g := range all {
		var model market.Model
		model.Id, model.Name, model.VramMib = uint16(i+1), market.Text32(g.Name), g.MemoryMiB
		known = append(known, model)
	}
	for _, g := range all {
		for _, driver := range g.Drivers {
			for _, pciID := range append([]string{""}, g.PCIIDs...) {
				m.Inventory.GPUs[0] = GPU{Model: driver, VRAMMiB: uint64(g.MemoryMiB), PCIID: pciID}
				model, err := m.Model(known)
				require.NoError(t, err, driver)
				require.Equal(t, g.Name, model.ModelName(), driver)
			}
		}
	}
	for name, shown := range map[string]uint64{"NVIDIA L4": 24_570, "NVIDIA A10": 24_564, "NVIDIA L40S": 49_140} { // error correction is off
		m.Inventory.GPUs[0] = GPU{Model: name, VRAMMiB: shown}
		_, err := m.Model(known)
		require.NoError(t, err, name)
	}
	m.Inventory.GPUs[0] = GPU{Model: "NVIDIA H100 80GB HBM3", VRAMMiB: 81_559, PCIID: "10de:2330"}
	_, err := m.Model([]market.Model{known[11]})
	require.Equal(t, "H100-PCIe-80GB", known[11].ModelName())
	require.ErrorIs(t, err, ErrUnknownModel)
	require.ErrorContains(t, err, "which is a H100-SXM5-80GB")
}
