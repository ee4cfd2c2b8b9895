package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

var (
	// ErrNoGPUs: there is nothing to offer.
	ErrNoGPUs = errors.New("no GPUs to offer")
	// ErrUnknownModel: the market has no such GPU model.
	ErrUnknownModel = errors.New("the market does not know this GPU model")
	// ErrMixed: a node has GPUs of one model only.
	ErrMixed = errors.New("GPUs of different models cannot form one node")
	// ErrSplit: a node has whole GPUs.
	ErrSplit = errors.New("a GPU that is split in instances (MIG) cannot be rented out as a GPU")
)

// Machine is this machine as the market sees it: its inventory, the GPU model that the market knows it by, and the
// claims that it registers and repeats to keepers. Close it when done.
type Machine struct {
	nvml nvml.Interface
	// Inventory is what was found when the machine was opened.
	Inventory Inventory

	mu   sync.Mutex // NVML's handles are not shared
	gpus *GPUs
}

// Source is where a machine's GPUs come from: the NVIDIA driver, or a simulation on local networks.
type Source struct {
	Simulated bool
	// Model and Count are of simulated GPUs.
	Model SimulatedModel
	Count int
	// LostFile loses the first of the simulated GPUs while the file exists; empty for none.
	LostFile string
	// UsedFile has the number of a process that computes on all simulated GPUs, while the file exists; empty for none.
	UsedFile string
}

// Options of New. DiskPath is required.
type Options struct {
	// Source is where GPUs come from.
	Source Source
	// Seed gives simulated GPUs identities of their own: the node's key.
	Seed [32]byte
	// DiskPath is where jobs run.
	DiskPath string
	// Known is a file of [Machine.Remember]: which GPUs those are that do not answer now. Empty for none.
	Known string
	// DiskTestBytes is how much is written to measure the disk; 0 for no measurement.
	DiskTestBytes int64
}

// New takes the inventory. A machine without GPUs is no error: what it lacks is in Inventory.GPUStatement.
func New(ctx context.Context, o Options) (*Machine, error) {
	if o.DiskPath == "" {
		return nil, errors.New("host: the disk path is required")
	}
	m := &Machine{nvml: nvml.New()}
	if o.Source.Simulated {
		var err error
		if m.nvml, err = Simulate(o.Source.Model, o.Source.Count, o.Seed); err != nil {
			return nil, err
		}
		if o.Source.LostFile != "" {
			m.nvml = losing{m.nvml, o.Source.LostFile}
		}
		if o.Source.UsedFile != "" {
			m.nvml = using{m.nvml, o.Source.UsedFile}
		}
	}
	var err error
	m.Inventory, err = Detect(ctx, DetectOptions{DiskPath: o.DiskPath, DiskTestBytes: o.DiskTestBytes, NVML: m.nvml})
	if err != nil {
		return nil, err
	}
	known, err := remembered(o.Known)
	if err != nil {
		m.Inventory.Notes = append(m.Inventory.Notes, err.Error())
	}
	m.Inventory.recall(known)
	if len(m.Inventory.GPUs) > 0 {
		if m.gpus, err = OpenGPUs(m.nvml); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Close closes the driver.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return nil
	}
	err := m.gpus.Close()
	m.gpus = nil
	return err
}

// UUIDs of the GPUs by index.
func (m *Machine) UUIDs() []string {
	out := make([]string, len(m.Inventory.GPUs))
	for i, g := range m.Inventory.GPUs {
		out[i] = g.UUID
	}
	return out
}

// Buses are the GPUs' places, by index.
func (m *Machine) Buses() []string {
	out := make([]string, len(m.Inventory.GPUs))
	for i, g := range m.Inventory.GPUs {
		out[i] = g.PCIBusID
	}
	return out
}

// Nodes asks the driver for its version, and for the numbers of its devices' nodes (/dev/nvidiaN) by UUID.
func (m *Machine) Nodes(ctx context.Context) (version string, minors map[string]int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return "", nil, fmt.Errorf("%w: %s", ErrNoGPUs, m.Inventory.GPUStatement)
	}
	minors = map[string]int{}
	err = m.gpus.handles(ctx, func(_ int, d nvml.Device, ret nvml.Return) error {
		if ret != nvml.SUCCESS {
			return nil
		}
		uuid, ret := d.GetUUID()
		minor, also := d.GetMinorNumber()
		if ret == nvml.SUCCESS && also == nvml.SUCCESS {
			minors[uuid] = minor
		}
		return nil
	})
	return m.gpus.Driver().Version, minors, err
}

// Needs asks the driver what it needs for each GPU, by index. A GPU of which it does not say that is left out.
func (m *Machine) Needs(ctx context.Context) (map[int]faults.Action, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[int]faults.Action{}
	if m.gpus == nil || !m.gpus.has("nvmlDeviceGetFieldValues") {
		return out, nil
	}
	uuids := m.UUIDs()
	err := m.gpus.handles(ctx, func(_ int, d nvml.Device, ret nvml.Return) error {
		if ret != nvml.SUCCESS {
			return nil
		}
		if uuid, ret := d.GetUUID(); ret == nvml.SUCCESS {
			if action, says := faults.ActionOf(d); says {
				out[slices.Index(uuids, uuid)] = action
			}
		}
		return nil
	})
	delete(out, -1) // a device that the inventory does not have
	return out, err
}

// FollowFaults notes the errors that NVML reports, until ctx ends. The machine must stay open meanwhile.
func (m *Machine) FollowFaults(ctx context.Context, s *faults.Standing) error {
	return s.FollowEvents(ctx, m.nvml)
}

// Devices are the GPUs' identities on chain, by index.
func (m *Machine) Devices() [][32]byte {
	out := make([][32]byte, len(m.Inventory.GPUs))
	for i, g := range m.Inventory.GPUs {
		out[i] = g.ID()
	}
	return out
}

// Model finds the market's model of this machine's GPUs: that of their class, where the table of classes has it by PCI
// id or name, and else the same name; and memory within seven per cent, because a driver shows a little less than the
// data sheet, and a fifteenth less with error correction. Errors: ErrNoGPUs, ErrMixed, ErrSplit, ErrUnknownModel.
func (m *Machine) Model(models []market.Model) (market.Model, error) {
	gpus := m.Inventory.GPUs
	if len(gpus) == 0 {
		return market.Model{}, fmt.Errorf("%w: %s", ErrNoGPUs, m.Inventory.GPUStatement)
	}
	for _, g := range gpus {
		if g.Split() {
			return market.Model{}, fmt.Errorf("%w: GPU %d, %s; turn that off with: nvidia-smi -i %d -mig 0", ErrSplit, g.Index, g.Model, g.Index)
		}
	}
	for _, g := range gpus[1:] {
		if g.Model != gpus[0].Model {
			return market.Model{}, fmt.Errorf("%w: %s and %s; run one agent for each kind", ErrMixed, gpus[0].Model, g.Model)
		}
	}
	if len(gpus) > market.MaxGPUs {
		return market.Model{}, fmt.Errorf("%w: %d GPUs, a node has at most %d", ErrNoGPUs, len(gpus), market.MaxGPUs)
	}
	const tolerance = 0.07
	best, distance := market.Model{}, math.Inf(1)
	known := make([]string, 0, len(models))
	of := class.GPUs().Device(gpus[0].PCIID, gpus[0].Model)
	for _, candidate := range models {
		known = append(known, candidate.ModelName())
		if !market.DeviceOfModel(of, gpus[0].Model, candidate.ModelName()) || candidate.VramMib == 0 {
			continue
		}
		off := math.Abs(float64(gpus[0].VRAMMiB)-float64(candidate.VramMib)) / float64(candidate.VramMib)
		if off <= tolerance && off < distance {
			best, distance = candidate, off
		}
	}
	if math.IsInf(distance, 1) {
		what := gpus[0].Model
		if of != nil {
			what += ", which is a " + of.Name + ","
		}
		return best, fmt.Errorf("%w: %s with %d MiB; it knows %s", ErrUnknownModel, what, gpus[0].VRAMMiB, strings.Join(known, ", "))
	}
	return best, nil
}

// Spec is what the machine registers as.
func (m *Machine) Spec(model market.Model, region, site string) market.NodeSpec {
	inv := m.Inventory
	threads, ram, disk := inv.Offered()
	s := market.NodeSpec{
		Region: market.Text16(region), Site: market.Text16(site),
		CpuCores: clamp(threads), RamMib: clamp(ram), DiskGib: clamp(disk), Cuda: uint16(inv.Driver.Newest()),
		Model: model.Id, Gpus: uint8(min(len(inv.GPUs), market.MaxGPUs)),
	}
	if inv.Network.Measured {
		s.UpMbps, s.DownMbps = clamp(uint64(inv.Network.UpMbps)), clamp(uint64(inv.Network.DownMbps))
	}
	s.Interconnect = uint8(market.NVLink)
	for i, g := range inv.GPUs {
		if vram := clamp(g.VRAMMiB); i == 0 || vram < s.VramMib {
			s.VramMib = vram
		}
		if g.Interconnect != NVLink {
			s.Interconnect = uint8(market.PCIe)
		}
	}
	if inv.Simulated {
		s.Simulated = 1
	}
	return s
}

// offered is what leases may have of memory and disk: a tenth stays for the machine.
func offered(all uint64) uint64 { return all * 9 / 10 }

// Offered is what the machine can give its leases now: processor threads, MiB of memory, GiB of disk.
func (i *Inventory) Offered() (threads, ramMiB, diskGiB uint64) {
	return uint64(max(0, i.CPU.Threads)), offered(i.RAMMiB), offered(i.Disk.FreeGiB)
}

func clamp(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }

// Claim is the inventory as keepers get it, with the GPUs' current readings. A machine that has lost a GPU claims
// nothing: without an answer it is not there, with one it would be another machine than it registered as, which costs
// stake. A GPU that the driver still lists and that does not answer is claimed with [messages.NoAnswer]. Error: ErrLost.
func (m *Machine) Claim(ctx context.Context) (messages.Inventory, error) {
	inv := m.Inventory
	out := messages.Inventory{
		GPUs: []messages.GPU{}, CPUCores: clamp(uint64(max(0, inv.CPU.Threads))), RAMMiB: inv.RAMMiB, DiskGiB: inv.Disk.FreeGiB,
		Simulated: inv.Simulated,
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return out, nil
	}
	list, silent, err := m.claimed(ctx)
	if err != nil {
		return out, err
	}
	// As it is now: a driver can be upgraded under a running agent. Where it does not answer, it has not become older.
	out.CUDA = uint16(cmp.Or(m.gpus.Driver().Newest(), inv.Driver.Newest()))
	now, err := m.readings(ctx, list)
	if err != nil {
		return out, err
	}
	ids := make([]DeviceID, len(list))
	for i, g := range list {
		ids[i] = g.ID()
		r := now[i]
		one := messages.GPU{
			Name: g.Model, Identity: g.ID(), MIG: g.Split(), VRAMMiB: g.VRAMMiB, Driver: inv.Driver.Version,
			TempC: orZero(r.TemperatureC), PowerW: orZero(r.PowerMW) / 1000, Utilisation: orZero(r.GPUPercent), ECCErrors: orZero(r.ECCUncorrected),
		}
		if silent[g.UUID] {
			one.Fault = messages.NoAnswer
		}
		out.GPUs = append(out.GPUs, one)
	}
	out.Device = DeviceRoot(ids)
	return out, nil
}

// claimed are the devices as the driver lists them now, those that do not answer as the inventory has them. The caller holds mu.
// Error: ErrLost.
func (m *Machine) claimed(ctx context.Context) (list []GPU, silent map[string]bool, err error) {
	gone, err := m.gone(ctx)
	if err != nil {
		return nil, nil, err
	}
	var lost []string
	silent = map[string]bool{}
	for _, g := range gone {
		if silent[g.UUID] = true; !g.Silent {
			lost = append(lost, g.UUID)
		}
	}
	if len(lost) > 0 {
		return nil, nil, fmt.Errorf("%w: %s", ErrLost, strings.Join(lost, ", "))
	}
	list, err = m.gpus.List(ctx)
	if away := silences(err); err != nil && len(away) == 0 {
		return nil, nil, err
	}
	for _, g := range m.Inventory.GPUs {
		if !slices.ContainsFunc(list, func(l GPU) bool { return l.UUID == g.UUID }) {
			silent[g.UUID] = true
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b GPU) int { return cmp.Compare(a.Index, b.Index) })
	return list, silent, nil
}

// Attest asks the GPUs for signed reports over a nonce. Error: attest.ErrAbsent, with the reason, where they give none.
func (m *Machine) Attest(ctx context.Context, nonce [32]byte) ([]Attestation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return nil, fmt.Errorf("%s: %w", m.Inventory.GPUStatement, attest.ErrAbsent)
	}
	return m.gpus.Attest(ctx, nonce)
}

// orZero is a reading, or 0 when the device has none.
func orZero[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
