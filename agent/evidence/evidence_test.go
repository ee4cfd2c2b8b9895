package evidence

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/snp/snptest"
	"github.com/gantry-market/gantry/attest/tdx/tdxtest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// configfs imitates the kernel's report interface.
type configfs struct {
	t          *testing.T
	provider   string
	report     func(data [64]byte) (out, aux []byte)
	entries    map[string]map[string][]byte
	generation map[string]int
	// interfere makes another writer come in between, so many times.
	interfere int
	mkdir     error
	reads     int
}

func newConfigfs(t *testing.T, provider string, report func([64]byte) (out, aux []byte)) *configfs {
	return &configfs{t: t, provider: provider, report: report, entries: map[string]map[string][]byte{}, generation: map[string]int{}}
}

func (c *configfs) Stat(path string) error {
	if path != collect.TSMPath || c.provider == "" {
		return fs.ErrNotExist
	}
	return nil
}

func (c *configfs) Mkdir(path string) error {
	if c.mkdir != nil {
		return c.mkdir
	}
	require.Equal(c.t, collect.TSMPath, filepath.Dir(path))
	if c.entries[path] != nil {
		return fs.ErrExist
	}
	c.entries[path] = map[string][]byte{}
	return nil
}

func (c *configfs) Write(path string, data []byte) error {
	dir := filepath.Dir(path)
	require.Equal(c.t, "inblob", filepath.Base(path))
	require.NotNil(c.t, c.entries[dir])
	c.generation[dir]++
	if c.interfere > 0 {
		c.interfere--
		c.generation[dir]++
	}
	out, aux := c.report([64]byte(data))
	c.entries[dir] = map[string][]byte{"outblob": out, "auxblob": aux, "provider": []byte(c.provider + "\n")}
	return nil
}

func (c *configfs) Read(path string) ([]byte, error) {
	c.reads++
	if filepath.Base(path) == "generation" {
		return []byte(strconv.Itoa(c.generation[filepath.Dir(path)]) + "\n"), nil
	}
	data, ok := c.entries[filepath.Dir(path)][filepath.Base(path)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func (c *configfs) Remove(path string) error {
	if c.entries[path] == nil {
		return fs.ErrNotExist
	}
	delete(c.entries, path)
	return nil
}

// confidentialNVML is a driver in confidential mode over synthetic GPUs.
func confidentialNVML(t *testing.T, gpus []*nvgputest.GPU) *mock.Interface {
	devices := make([]nvml.Device, len(gpus))
	for i, g := range gpus {
		d := &mock.Device{}
		d.GetConfComputeGpuAttestationReportFunc = func(r *nvml.ConfComputeGpuAttestationReport) nvml.Return {
			raw, err := g.Sign(g.Spec(r.Nonce))
			require.NoError(t, err)
			r.AttestationReportSize = uint32(copy(r.AttestationReport[:], raw))
			return nvml.SUCCESS
		}
		d.GetConfComputeGpuCertificateFunc = func() (nvml.ConfComputeGpuCertificate, nvml.Return) {
			var c nvml.ConfComputeGpuCertificate
			c.AttestationCertChainSize = uint32(copy(c.AttestationCertChain[:], pemOf(g)))
			return c, nvml.SUCCESS
		}
		devices[i] = d
	}
	return &mock.Interface{
		InitFunc:     func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc: func() nvml.Return { return nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(string) error { return nil }}
		},
		DeviceGetCountFunc: func() (int, nvml.Return) { return len(devices), nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return devices[i], nvml.SUCCESS
		},
		SystemGetConfComputeStateFunc: func() (nvml.ConfComputeSystemState, nvml.Return) {
			return nvml.ConfComputeSystemState{CcFeature: nvml.CC_SYSTEM_FEATURE_ENABLED}, nvml.SUCCESS
		},
		SystemGetConfComputeGpusReadyStateFunc: func() (uint32, nvml.Return) {
			return nvml.CC_ACCEPTING_CLIENT_REQUESTS_TRUE, nvml.SUCCESS
		},
	}
}

type rig struct {
	t         *testing.T
	key       ed25519.PrivateKey
	challenge attest.Challenge
	now       time.Time
	inv       inventory.Inventory
}

func newRig(t *testing.T) *rig {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))
	now := time.Now().Truncate(time.Second)
	return &rig{
		t: t, key: key, now: now,
		challenge: attest.Challenge{
			GenesisHash: [32]byte{1}, Program: [32]byte{2}, ID: [32]byte{3}, SlotHash: [32]byte{4}, Node: [32]byte{8},
			NodeKey: [32]byte(key.Public().(ed25519.PublicKey)), Expiry: now.Unix() + 60,
		},
		inv: inventory.Inventory{
			Version: inventory.Version, Cores: 4, RAMMiB: 1024, Driver: nvgputest.Driver,
			GPUs: []inventory.GPU{
				{Index: 0, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-4000-8000-000000000001"},
				{Index: 1, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-4000-8000-000000000002"},
			},
		},
	}
}

func (r *rig) collector(s collect.Sources) *collect.Collector {
	s.Inventory = func(context.Context) (inventory.Inventory, error) { return r.inv, nil }
	c, err := collect.New(collect.Options{Sources: s, Key: r.key})
	require.NoError(r.t, err)
	return c
}

func states(findings []collect.Finding) map[attest.Kind]collect.State {
	out := map[attest.Kind]collect.State{}
	for _, f := range findings {
		out[f.Kind] = f.State
	}
	return out
}

// A machine with everything, through the same calls as on real hardware, reaches tier 3.
func TestConfidentialMachine(t *testing.T) {
	r := newRig(t)
	authority, err := nvgputest.NewAuthority()
	require.NoError(t, err)
	var gpus []*nvgputest.GPU
	for range 2 {
		g, err := authority.NewGPU(nvgputest.GPUOptions{})
		require.NoError(t, err)
		gpus = append(gpus, g)
	}
	machine, err := snptest.New(r.now)
	require.NoError(t, err)
	tsm := newConfigfs(t, "sev_guest", func(data [64]byte) ([]byte, []byte) {
		raw, err := machine.Report(data, nil)
		require.NoError(t, err)
		return raw, machine.CertTable()
	})
	driver, err := host.OpenGPUs(confidentialNVML(t, gpus))
	require.NoError(t, err)
	c := r.collector(collect.Sources{GPUs: GPUs(driver), TEE: collect.TSM{Files: tsm}.Report})
	b, findings, err := c.Collect(context.Background(), r.challenge)
	require.NoError(t, err)
	require.Empty(t, tsm.entries, "the kernel's entry is removed")
	require.Equal(t, map[attest.Kind]collect.State{
		attest.KindInventory: collect.Found, attest.KindNVGPU: collect.Found, attest.KindGuest: collect.Found, attest.KindSNP: collect.Found, attest.KindTPM: collect.Absent,
	}, states(findings))

	found := map[string][]byte{}
	manifests, err := authority.Collateral()
	require.NoError(t, err)
	for k, v := range manifests {
		found[k] = v
	}
	p := policy.Default()
	p.AllowSynthetic = true
	root := func(name string, der []byte) []string { found[policy.RootKey(name)] = der; return []string{name} }
	roots := authority.Roots()
	p.Roots.GPU = root(hexSum(roots.Device.Raw), roots.Device.Raw)
	p.Roots.RIM = root(hexSum(roots.RIM.Raw), roots.RIM.Raw)
	for _, m := range machine.Roots() {
		p.Roots.SNP = root(hexSum(m.ARK.Raw), m.ARK.Raw)
	}
	launch := machine.Measurement()
	p.SNP.Measurements = []string{hex.EncodeToString(launch[:])}
	p.SNP.MinTCB = policy.SNPTCB{Bootloader: 3, SNP: 8, Microcode: 115}
	p.SNP.MinLaunchTCB = p.SNP.MinTCB
	claims, _, err := policy.Judge(b, p, policy.Subject{Challenge: r.challenge}, time.Now(), collateral(found))
	require.NoError(t, err)
	require.Equal(t, uint8(3), claims.Tier, claims.Why)
}

// A machine with nothing gives a bundle and a reason for everything that it lacks.
func TestBareMachine(t *testing.T) {
	r := newRig(t)
	nothing := confidentialNVML(t, nil)
	nothing.SystemGetConfComputeStateFunc = func() (nvml.ConfComputeSystemState, nvml.Return) {
		return nvml.ConfComputeSystemState{}, nvml.SUCCESS
	}
	driver, err := host.OpenGPUs(nothing)
	require.NoError(t, err)
	c := r.collector(collect.Sources{
		GPUs: GPUs(driver), TEE: collect.TSM{Path: t.TempDir() + "/none"}.Report, TPM: noTPM{},
	})
	b, findings, err := c.Collect(context.Background(), r.challenge)
	require.NoError(t, err)
	require.NoError(t, b.VerifySignature())
	require.Len(t, b.Evidence, 1)
	require.Len(t, findings, 4)
	for _, f := range findings {
		if f.Kind != attest.KindInventory {
			require.Equal(t, collect.Absent, f.State, f)
		}
		require.NotEmpty(t, f.Detail)
	}
}

type noTPM struct{}

func (noTPM) AK(context.Context) (tpm.AK, error) { return tpm.AK{}, attest.ErrAbsent }
func (noTPM) Collect(context.Context, [32]byte) ([]attest.Evidence, error) {
	return nil, attest.ErrAbsent
}

// brokenTPM has a key and cannot quote.
type brokenTPM struct{}

func (brokenTPM) AK(context.Context) (tpm.AK, error) { return tpm.AK{Name: tpm.Name{1}}, nil }
func (brokenTPM) Collect(context.Context, [32]byte) ([]attest.Evidence, error) {
	return nil, errors.New("busy")
}

// A TPM that fails after the TEE has bound its key must not make the machine look like a liar.
func TestTPMThatFailsLate(t *testing.T) {
	r := newRig(t)
	platform, err := tdxtest.New(r.now)
	require.NoError(t, err)
	tsm := newConfigfs(t, "tdx_guest", func(data [64]byte) ([]byte, []byte) {
		raw, err := platform.Quote(platform.TD(data))
		require.NoError(t, err)
		return raw, nil
	})
	b, findings, err := r.collector(collect.Sources{TEE: collect.TSM{Files: tsm}.Report, TPM: brokenTPM{}}).Collect(context.Background(), r.challenge)
	require.NoError(t, err)
	require.Equal(t, collect.Failed, states(findings)[attest.KindTPM])
	require.Equal(t, collect.Found, states(findings)[attest.KindTDX])
	require.Len(t, b.OfKind(attest.KindTDX), 1)
	p := policy.Default()
	name := hexSum(platform.Root().Raw)
	p.Roots.TDX, p.AllowSynthetic = []string{name}, true
	claims, _, err := policy.Judge(b, p, policy.Subject{Challenge: r.challenge}, time.Now(), collateral{policy.RootKey(name): platform.Root().Raw})
	require.NoError(t, err)
	require.Equal(t, policy.Sound, claims.Verdict)
	require.Equal(t, uint8(1), claims.Tier)
}

func TestGPUsThatGiveNoReport(t *testing.T) {
	authority, err := nvgputest.NewAuthority()
	require.NoError(t, err)
	g, err := authority.NewGPU(nvgputest.GPUOptions{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*mock.Interface)
		want   string
	}{
		"old driver": {func(m *mock.Interface) {
			m.ExtensionsFunc = func() nvml.ExtendedInterface {
				return &mock.ExtendedInterface{LookupSymbolFunc: func(s string) error {
					if strings.Contains(s, "AttestationReport") {
						return errors.New("no such symbol")
					}
					return nil
				}}
			}
		}, "too old"},
		"mode not known": {func(m *mock.Interface) {
			m.SystemGetConfComputeStateFunc = func() (nvml.ConfComputeSystemState, nvml.Return) {
				return nvml.ConfComputeSystemState{}, nvml.ERROR_UNKNOWN
			}
		}, "does not say"},
		"mode not supported": {func(m *mock.Interface) {
			m.SystemGetConfComputeStateFunc = func() (nvml.ConfComputeSystemState, nvml.Return) {
				return nvml.ConfComputeSystemState{}, nvml.ERROR_NOT_SUPPORTED
			}
		}, "is off"},
		"not ready": {func(m *mock.Interface) {
			m.SystemGetConfComputeGpusReadyStateFunc = func() (uint32, nvml.Return) { return nvml.CC_ACCEPTING_CLIENT_REQUESTS_FALSE, nvml.SUCCESS }
		}, "not set ready"},
	} {
		t.Run(name, func(t *testing.T) {
			m := confidentialNVML(t, []*nvgputest.GPU{g})
			c.change(m)
			driver, err := host.OpenGPUs(m)
			require.NoError(t, err)
			_, err = GPUs(driver)(context.Background(), [32]byte{1})
			require.ErrorIs(t, err, attest.ErrAbsent)
			require.ErrorContains(t, err, c.want)
		})
	}
	simulated, err := host.Simulate(host.SimulatedH100, 1, [32]byte{1})
	require.NoError(t, err)
	driver, err := host.OpenGPUs(simulated)
	require.NoError(t, err)
	_, err = GPUs(driver)(context.Background(), [32]byte{1})
	require.ErrorIs(t, err, attest.ErrAbsent)
	require.ErrorContains(t, err, "simulated")

	for ret, want := range map[nvml.Return]collect.State{
		nvml.ERROR_NOT_SUPPORTED: collect.Absent, nvml.ERROR_NO_PERMISSION: collect.Failed, nvml.ERROR_GPU_IS_LOST: collect.Failed,
	} {
		m := confidentialNVML(t, []*nvgputest.GPU{g})
		d, _ := m.DeviceGetHandleByIndexFunc(0)
		d.(*mock.Device).GetConfComputeGpuAttestationReportFunc = func(*nvml.ConfComputeGpuAttestationReport) nvml.Return { return ret }
		driver, err := host.OpenGPUs(m)
		require.NoError(t, err)
		r := newRig(t)
		_, findings, err := r.collector(collect.Sources{GPUs: GPUs(driver)}).Collect(context.Background(), r.challenge)
		require.NoError(t, err)
		require.Equal(t, want, states(findings)[attest.KindNVGPU], ret)
	}
}

func TestTSM(t *testing.T) {
	now := time.Now()
	machine, err := snptest.New(now)
	require.NoError(t, err)
	honest := func(data [64]byte) ([]byte, []byte) {
		raw, err := machine.Report(data, nil)
		require.NoError(t, err)
		return raw, machine.CertTable()
	}
	data := [64]byte{7}
	t.Run("report", func(t *testing.T) {
		c := newConfigfs(t, "sev_guest", honest)
		e, err := collect.TSM{Files: c}.Report(context.Background(), data)
		require.NoError(t, err)
		raw, ok := e.Item(snp.ItemReport)
		require.True(t, ok)
		report, err := snp.ParseReport(raw)
		require.NoError(t, err)
		require.Equal(t, data, report.ReportData())
		require.Empty(t, c.entries)
	})
	t.Run("another writer once", func(t *testing.T) {
		c := newConfigfs(t, "sev_guest", honest)
		c.interfere = 1
		_, err := collect.TSM{Files: c}.Report(context.Background(), data)
		require.NoError(t, err)
	})
	t.Run("another writer always", func(t *testing.T) {
		c := newConfigfs(t, "sev_guest", honest)
		c.interfere = 100
		_, err := collect.TSM{Files: c}.Report(context.Background(), data)
		require.ErrorContains(t, err, "another process")
		require.NotErrorIs(t, err, attest.ErrAbsent)
		require.Empty(t, c.entries)
	})
	t.Run("an entry left behind", func(t *testing.T) {
		c := newConfigfs(t, "sev_guest", honest)
		require.NoError(t, c.Mkdir(filepath.Join(collect.TSMPath, "left")))
		_, err := collect.TSM{Files: c, Entry: "left"}.Report(context.Background(), data)
		require.NoError(t, err)
	})
	t.Run("not confidential", func(t *testing.T) {
		_, err := collect.TSM{Files: newConfigfs(t, "", honest)}.Report(context.Background(), data)
		require.ErrorIs(t, err, attest.ErrAbsent)
	})
	t.Run("interface without hardware", func(t *testing.T) {
		c := newConfigfs(t, "sev_guest", honest)
		c.mkdir = errors.New("no such device or address")
		_, err := collect.TSM{Files: c}.Report(context.Background(), data)
		require.ErrorIs(t, err, attest.ErrAbsent)
	})
	t.Run("not root", func(t *testing.T) {
		c := newConfigfs(t, "sev_guest", honest)
		c.mkdir = fs.ErrPermission
		_, err := collect.TSM{Files: c}.Report(context.Background(), data)
		require.ErrorIs(t, err, fs.ErrPermission)
		require.NotErrorIs(t, err, attest.ErrAbsent)
	})
	t.Run("another provider", func(t *testing.T) {
		_, err := collect.TSM{Files: newConfigfs(t, "arm_cca_guest", honest)}.Report(context.Background(), data)
		require.ErrorIs(t, err, attest.ErrAbsent)
		require.ErrorContains(t, err, "arm_cca_guest")
	})
	t.Run("broken report", func(t *testing.T) {
		_, err := collect.TSM{Files: newConfigfs(t, "tdx_guest", func([64]byte) ([]byte, []byte) { return []byte("x"), nil })}.Report(context.Background(), data)
		require.ErrorIs(t, err, attest.ErrMalformed)
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := collect.TSM{Files: newConfigfs(t, "sev_guest", honest)}.Report(ctx, data)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// The names of devices in evidence and on chain are the same.
func TestDevicesHaveOneName(t *testing.T) {
	n, err := host.Simulate(host.SimulatedA100, 5, [32]byte{4})
	require.NoError(t, err)
	inv, err := host.Detect(context.Background(), host.DetectOptions{DiskPath: t.TempDir(), NVML: n})
	require.NoError(t, err)
	e := Inventory(inv)
	require.True(t, e.Simulated)
	require.Len(t, e.GPUs, 5)
	var hashes [][32]byte
	for i, g := range e.GPUs {
		hashes = append(hashes, policy.DeviceHash([]byte(g.UUID)))
		require.Equal(t, [32]byte(inv.GPUs[i].ID()), hashes[i])
	}
	require.Equal(t, inv.DeviceRoot(), policy.DeviceRoot(hashes))
	_, err = e.Encode()
	require.NoError(t, err)
}

func TestNewNeedsAKey(t *testing.T) {
	_, err := collect.New(collect.Options{})
	require.ErrorContains(t, err, "required")
}
