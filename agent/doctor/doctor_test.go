package doctor

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

var errTest = errors.New("test fault")

// write makes a file of the fake system.
func write(t *testing.T, m *Machine, path, text string) {
	t.Helper()
	path = filepath.Join(m.Root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func remove(t *testing.T, m *Machine, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(m.Root, path)))
}

// clock has the node answer with a time of the chain.
func clock(s *fakerpc.Server, at time.Time) {
	data := make([]byte, 40)
	binary.LittleEndian.PutUint64(data[32:], uint64(at.Unix()))
	s.Answer("getAccountInfo", map[string]any{"context": map[string]any{"slot": 9}, "value": map[string]any{
		"data": []string{base64.StdEncoding.EncodeToString(data), "base64"}, "executable": false, "lamports": 1,
		"owner": solana.SysVarPubkey.String(), "rentEpoch": 0, "space": 40,
	}})
}

// healthy is a machine that lacks nothing.
func healthy(t *testing.T) (*Machine, *fakerpc.Server) {
	t.Helper()
	s := fakerpc.New(t)
	s.Answer("getGenesisHash", chain.DevnetGenesis)
	clock(s, time.Now())
	n, err := host.Simulate(host.SimulatedH100, 2, [32]byte{1})
	require.NoError(t, err)
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(data, 0o700))
	m := &Machine{
		Root: t.TempDir(), UID: os.Geteuid(), NVML: n,
		Config:    config.Config{DataDir: data, NodeKey: filepath.Join(data, "node.json"), Inventory: config.InventoryNVML, RPC: s.URL(), WS: s.WS(), Guest: config.Guest{Image: "guest.efi"}},
		LookPath:  func(name string) (string, error) { return "/usr/bin/" + name, nil },
		FindRunsc: func() string { return "/usr/bin/runsc" },
		Output:    func(context.Context, string, ...string) ([]byte, error) { return []byte("version 1\nspec 2\n"), nil },
		FindBLAS:  func() error { return nil },
		Supported: func(context.Context, string, string) error { return nil },
		Network:   func() error { return nil }, Volumes: func() error { return nil }, Guest: func(guestvm.Settings) error { return nil },
		Free:     func(string) (uint64, error) { return 500 * gib, nil },
		Adjtimex: func(*unix.Timex) (int, error) { return unix.TIME_OK, nil },
	}
	m.UID = os.Geteuid()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	require.NoError(t, chain.SaveKeypair(m.Config.NodeKey, key))
	write(t, m, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
	write(t, m, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
	write(t, m, "/proc/self/status", "Name:\tgantry-agent\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n")
	write(t, m, "/proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n")
	for _, slot := range []string{"0000:18:00.0", "0000:19:00.0"} {
		write(t, m, "/sys/bus/pci/devices/"+slot+"/class", "0x030200\n")
		write(t, m, "/sys/bus/pci/devices/"+slot+"/vendor", "0x10de\n")
	}
	write(t, m, "/run/systemd/system/x", "")
	write(t, m, "/usr/lib/systemd/system/"+unit, "[Unit]\n")
	write(t, m, "/etc/systemd/system/multi-user.target.wants/"+unit, "")
	write(t, m, "/sys/fs/cgroup/system.slice/"+unit+"/cgroup.procs", "7\n")
	return m, s
}

func gpu(t *testing.T, m *Machine, i int) *mock.Device {
	t.Helper()
	d, ret := m.NVML.DeviceGetHandleByIndex(i)
	require.Equal(t, nvml.SUCCESS, ret)
	return d.(*mock.Device)
}

// find runs all checks and returns the finding of one.
func find(t *testing.T, m *Machine, id string) Finding {
	t.Helper()
	for _, f := range Run(t.Context(), m, Checks(), time.Minute) {
		if f.ID == id {
			return f
		}
	}
	t.Fatalf("no check %s", id)
	return Finding{}
}

func TestAHealthyMachineHasNoFault(t *testing.T) {
	m, _ := healthy(t)
	if m.UID != 0 {
		t.Skip("volumes and networks need root")
	}
	seen := map[string]bool{}
	for _, f := range Run(t.Context(), m, Checks(), time.Minute) {
		require.Equal(t, OK, f.Result, f)
		require.NotEmpty(t, f.Cause, f)
		require.Empty(t, f.Fix, f)
		require.False(t, seen[f.ID], "two checks %s", f.ID)
		seen[f.ID] = true
	}
}

type fault struct {
	id     string
	result Result
	fix    string // is part of the command
	cause  func(*testing.T, *Machine, *fakerpc.Server)
}

func TestFaultsAreFound(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("volumes and networks need root")
	}
	faults := append(append(gpuFaults(), systemFaults()...), folderFaults()...)
	caused := map[string]bool{}
	for _, c := range faults {
		t.Run(c.id, func(t *testing.T) {
			m, s := healthy(t)
			c.cause(t, m, s)
			f := find(t, m, c.id)
			require.Equal(t, c.result, f.Result, f)
			require.NotEmpty(t, f.Cause)
			require.Contains(t, f.Fix, c.fix, f)
			automaticOnly(t, f)
		})
		caused[c.id] = true
	}
	for _, c := range Checks() {
		require.True(t, caused[c.ID], "no test causes the fault of %s", c.ID)
	}
}

// automaticOnly checks that setup runs no command by itself that asks for a restart, adds a source of packages or needs a file of the
// owner's.
func automaticOnly(t *testing.T, f Finding) {
	t.Helper()
	for _, part := range []string{"reboot", "curl", "sources.list", "apt-add-repository", "./", "rm ", "gantry-agent"} {
		require.False(t, f.Automatic && strings.Contains(f.Fix, part), "%s: %s", f.ID, f.Fix)
	}
	mends := strings.Contains(f.Fix, "chrony") || strings.Contains(f.Fix, "modprobe -a")
	require.Equal(t, mends, f.Automatic, "%s: %s", f.ID, f.Fix)
}

func gpuFaults() []fault {
	type dev = mock.Device
	with := func(f func(*dev)) func(*testing.T, *Machine, *fakerpc.Server) {
		return func(t *testing.T, m *Machine, _ *fakerpc.Server) { f(gpu(t, m, 1)) }
	}
	remapped := func(pending, failed bool) func(*testing.T, *Machine, *fakerpc.Server) {
		return with(func(d *dev) {
			d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 0, pending, failed, nvml.SUCCESS }
		})
	}
	needs := func(action nvml.DeviceGpuRecoveryAction) func(*testing.T, *Machine, *fakerpc.Server) {
		return with(func(d *dev) {
			d.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
				values[0].Value[0] = byte(action)
				return nvml.SUCCESS
			}
		})
	}
	return []fault{
		{"gpu-driver", Error, "nvidia-driver", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.NVML = nodriver{m.NVML} }},
		{"gpu-driver", Error, "ubuntu-drivers", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			m.NVML = nodriver{m.NVML}
			write(t, m, "/etc/os-release", "NAME=\"Ubuntu\"\nID=ubuntu\n")
		}},
		{"gpu-driver", Error, "nvidia-smi", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.NVML = nohandle{m.NVML, nvml.ERROR_LIB_RM_VERSION_MISMATCH}
		}},
		{"gpu-driver-sandbox", Error, "NVIDIA-Linux-x86_64-550.90.07.run", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.Supported = func(context.Context, string, string) error {
				return errors.Join(gpus.ErrDriver, errors.New("install one of: 550.54.14, 550.90.07"))
			}
		}},
		{"gpu-cublaslt", Error, "libcublaslt12", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.FindBLAS = func() error { return errors.New("libcublasLt.so.12: cannot open shared object file") }
		}},
		{"gpu-missing", Error, "dmesg", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/sys/bus/pci/devices/0000:20:00.0/class", "0x030200\n")
			write(t, m, "/sys/bus/pci/devices/0000:20:00.0/vendor", "0x10de\n")
		}},
		{"gpu-missing", Error, "dmesg", with(func(d *dev) {
			d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
		})},
		{"gpu-missing", Error, "dmesg", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.NVML = nohandle{m.NVML, nvml.ERROR_NO_PERMISSION}
		}},
		{"gpu-missing", Error, "nvidia-smi -i 1 -r", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.NVML = nohandle{m.NVML, nvml.ERROR_RESET_REQUIRED}
		}},
		{"gpu-driver", Error, "ubuntu.com/download/server", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			m.NVML = nodriver{m.NVML}
			write(t, m, "/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
		}},
		{"gpu-driver", Error, "ubuntu.com/download/server", func(t *testing.T, m *Machine, _ *fakerpc.Server) { write(t, m, "/dev/dxg", "") }},
		{"gpu-model", Error, "gantry market", with(func(d *dev) {
			d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED }
		})},
		{"gpu-fabric", Error, "nvidia-fabricmanager-550=550.54.15-1", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/sys/bus/pci/devices/0000:30:00.0/class", "0x068000\n")
			write(t, m, "/sys/bus/pci/devices/0000:30:00.0/vendor", "0x10de\n")
		}},
		{"gpu-fabric", Error, "restart nvidia-fabricmanager", with(func(d *dev) {
			d.GetGpuFabricInfoFunc = func() (nvml.GpuFabricInfo, nvml.Return) {
				return nvml.GpuFabricInfo{State: nvml.GPU_FABRIC_STATE_IN_PROGRESS}, nvml.SUCCESS
			}
		})},
		{"gpu-recovery", Error, "nvidia-smi -i 1 -r", needs(nvml.GPU_RECOVERY_ACTION_GPU_RESET)},
		{"gpu-recovery", Error, "sudo reboot", needs(nvml.GPU_RECOVERY_ACTION_NODE_REBOOT)},
		{"gpu-mig", Error, "nvidia-smi -i 1 -mig 0", with(func(d *dev) {
			d.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 0, nvml.SUCCESS }
		})},
		{"gpu-power-limit", Warning, "nvidia-smi -i 1 -pl 700", with(func(d *dev) {
			d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 400_000, nvml.SUCCESS }
		})},
		{"gpu-persistence", Warning, "nvidia-smi -i 1 -pm 1", with(func(d *dev) {
			d.GetPersistenceModeFunc = func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_DISABLED, nvml.SUCCESS }
		})},
		{"gpu-memory", Error, "drain", remapped(false, true)},
		{"gpu-memory", Warning, "nvidia-smi -i 1 -r", remapped(true, false)},
		{"gpu-memory", Warning, "nvidia-smi -i 1 -r", with(func(d *dev) {
			d.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 3, nvml.SUCCESS }
		})},
		{"gpu-processes", Warning, "-p 42", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/proc/41/cgroup", "0::/gantry/lease\n")
			write(t, m, "/proc/42/cgroup", "0::/user.slice\n")
			gpu(t, m, 1).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
				return []nvml.ProcessInfo{{Pid: 41}, {Pid: 42}}, nvml.SUCCESS
			}
		}},
	}
}

// nohandle refuses the second GPU; as the driver's library, it returns a device nevertheless.
type nohandle struct {
	nvml.Interface
	ret nvml.Return
}

func (n nohandle) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	d, ret := n.Interface.DeviceGetHandleByIndex(i)
	if i == 1 {
		ret = n.ret
	}
	return d, ret
}

// nodriver is an NVML without its library.
type nodriver struct{ nvml.Interface }

func (nodriver) Init() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND }

func systemFaults() []fault {
	listen := func(network string) func(*testing.T, *Machine, *fakerpc.Server) {
		return func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			remove(t, m, "/sys/fs/cgroup/system.slice")
			if network == "udp" {
				l, err := net.ListenPacket("udp", "127.0.0.1:0")
				require.NoError(t, err)
				t.Cleanup(func() { l.Close() })
				_, port, _ := net.SplitHostPort(l.LocalAddr().String())
				m.Config.Listen = []string{"/ip4/127.0.0.1/udp/" + port + "/quic-v1"}
				return
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
			_, port, _ := net.SplitHostPort(l.Addr().String())
			m.Config.Listen = []string{"/ip4/127.0.0.1/tcp/" + port}
		}
	}
	return []fault{
		{"nvidia-ctk", Error, "nvidia-container-toolkit-base", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.LookPath = func(string) (string, error) { return "", errTest }
		}},
		{"runsc", Error, "gantry-agent_", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.FindRunsc = func() string { return "" } }},
		{"runsc", Error, "gantry-agent_", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.Output = func(context.Context, string, ...string) ([]byte, error) { return nil, errTest }
		}},
		{"cgroups", Error, "cgroup_enable=memory", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/sys/fs/cgroup/cgroup.controllers", "cpu pids\n")
		}},
		{"cgroups", Error, "update-grub", func(t *testing.T, m *Machine, _ *fakerpc.Server) { write(t, m, "/proc/self/mountinfo", "") }},
		// A container of Kubernetes or Docker without rights: its groups are read-only, or it sees its own as the root of all.
		{"cgroups", Error, "privileged: true", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup ro,nosuid,relatime - cgroup2 cgroup rw\n")
		}},
		{"cgroups", Error, "privileged: true", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/sys/fs/cgroup/cgroup.type", "domain\n")
			write(t, m, "/sys/fs/cgroup/cgroup.procs", "1\n")
			write(t, m, "/sys/fs/cgroup/cgroup.subtree_control", "\n")
		}},
		// systemd's Delegate: the group is not the root, and is divided already.
		{"cgroups", OK, "", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/sys/fs/cgroup/cgroup.type", "domain\n")
			write(t, m, "/sys/fs/cgroup/cgroup.procs", "1\n")
			write(t, m, "/sys/fs/cgroup/cgroup.subtree_control", "cpu memory pids\n")
		}},
		{"privileges", Error, "privileged: true", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/proc/self/status", "CapEff:\t00000000a80425fb\n") // what Docker and containerd give a container
		}},
		{"privileges", Error, "grep proc", func(t *testing.T, m *Machine, _ *fakerpc.Server) { remove(t, m, "/proc/self/status") }},
		{"privileges", NotApplicable, "", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.UID = 1000 }},
		{"network", Error, "modprobe", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.Network = func() error { return errTest } }},
		{"network", Error, "sudo", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.UID = 1000 }},
		{"volumes", Warning, "e2fsprogs", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.Volumes = func() error { return errTest } }},
		{"guest", Warning, "qemu-system-x86", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.Config.Guest, m.Guest = config.Guest{Image: "guest.efi"}, func(guestvm.Settings) error { return errTest }
		}},
		{"guest", Warning, "kvm", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.Config.Guest, m.Guest = config.Guest{Image: "guest.efi", Accelerator: "tcg"}, func(guestvm.Settings) error { return nil }
		}},
		{"clock-sync", Warning, "chrony", func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.Adjtimex = func(*unix.Timex) (int, error) { return unix.TIME_ERROR, nil }
		}},
		{"clock-chain", Error, "chrony", func(_ *testing.T, _ *Machine, s *fakerpc.Server) { clock(s, time.Now().Add(-time.Hour)) }},
		{"rpc", Error, "--url", func(_ *testing.T, _ *Machine, s *fakerpc.Server) { s.Down(true) }},
		{"rpc", Error, "nvml", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.Config.Inventory = "simulated:H100:2" }},
		{"listen", Error, "ss -lntp", listen("tcp")},
		{"listen", Error, "ss -lnup", listen("udp")},
		{"hours", Error, "setup --hours", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.Config.Hours = "nights" }},
		{"hours", Warning, "systemctl start", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			remove(t, m, "/sys/fs/cgroup/system.slice")
			require.NoError(t, offer.Mark(m.Config.OfferPath()).Put())
		}},
		{"hours", OK, "", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			require.NoError(t, offer.Mark(m.Config.OfferPath()).Put())
		}},
		{"service", Warning, "gantry-agent_", func(t *testing.T, m *Machine, _ *fakerpc.Server) { remove(t, m, "/usr/lib/systemd") }},
		{"service", Warning, "enable --now", func(t *testing.T, m *Machine, _ *fakerpc.Server) { remove(t, m, "/etc/systemd") }},
		{"service", Warning, "systemctl start", func(t *testing.T, m *Machine, _ *fakerpc.Server) { remove(t, m, "/sys/fs/cgroup/system.slice") }},
		{"service", NotApplicable, "", func(t *testing.T, m *Machine, _ *fakerpc.Server) { remove(t, m, "/run/systemd") }},
	}
}

func folderFaults() []fault {
	left := func(n uint64) func(*testing.T, *Machine, *fakerpc.Server) {
		return func(_ *testing.T, m *Machine, _ *fakerpc.Server) {
			m.Free = func(string) (uint64, error) { return n, nil }
		}
	}
	return []fault{
		{"disk", Error, "du -xh", left(gib)},
		{"disk", Warning, "du -xh", left(20 * gib)},
		{"memory", Error, "ps -eo", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/proc/meminfo", "MemAvailable: 1000 kB\n")
		}},
		{"memory", Warning, "ps -eo", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			write(t, m, "/proc/meminfo", "MemAvailable: 2000000 kB\n")
		}},
		{"data-folder", Error, "gantry-agent init", func(_ *testing.T, m *Machine, _ *fakerpc.Server) { m.Config.DataDir += "-none" }},
		{"data-folder", Error, "chmod 700", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			require.NoError(t, os.Chmod(m.Config.DataDir, 0o777))
		}},
		{"data-folder", Error, "chown 0", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			require.NoError(t, os.Chown(m.Config.DataDir, 1000, -1))
		}},
		{"node-key", Error, "gantry-agent init", func(t *testing.T, m *Machine, _ *fakerpc.Server) { require.NoError(t, os.Remove(m.Config.NodeKey)) }},
		{"node-key", Error, "chmod 600", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			require.NoError(t, os.Chmod(m.Config.NodeKey, 0o644))
		}},
		{"node-key", Error, "chown 0", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			require.NoError(t, os.Chown(m.Config.NodeKey, 1000, -1))
		}},
		{"node-key", Error, "gantry-agent init", func(t *testing.T, m *Machine, _ *fakerpc.Server) {
			require.NoError(t, os.WriteFile(m.Config.NodeKey, []byte("[1]"), 0o600))
		}},
	}
}

func TestHoursAreSaid(t *testing.T) {
	m, _ := healthy(t)
	now := time.Now().UTC()
	m.Config.TimeZone = "UTC"
	at := func(from, to time.Duration) string {
		m.Config.Hours = now.Add(from).Format("15:04") + "-" + now.Add(to).Format("15:04")
		return checkHours(t.Context(), m).Cause
	}
	require.Equal(t, "new leases at all times", checkHours(t.Context(), m).Cause)
	require.Contains(t, at(-time.Hour, 4*time.Hour), "new leases now, until "+now.Add(4*time.Hour).Format("Mon 15:04")+" UTC (")
	m.Config.PauseWhenUsed = true
	require.Contains(t, at(-time.Hour, 4*time.Hour), "while nothing but leases uses the GPUs")
	require.Contains(t, at(4*time.Hour, 5*time.Hour), "no new leases before "+now.Add(4*time.Hour).Format("Mon 15:04")+" UTC (")
}

// A public cluster's name with another cluster's genesis.
func TestForeignGenesis(t *testing.T) {
	m, _ := healthy(t)
	url, err := chain.ResolveURL("testnet")
	require.NoError(t, err)
	m.Config.RPC = url
	require.Contains(t, m.foreign(chain.DevnetGenesis), "testnet")
	m.Config.RPC = "https://rpc.example"
	require.Empty(t, m.foreign(chain.DevnetGenesis))
}

func TestAChecksFailureIsAFinding(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	found := Run(t.Context(), &Machine{}, []Check{
		{"panics", func(context.Context, *Machine) Finding { panic("at once") }},
	}, time.Minute)
	found = append(found, Run(t.Context(), &Machine{}, []Check{
		{"hangs", func(context.Context, *Machine) Finding { <-release; return Finding{} }},
	}, 20*time.Millisecond)...)
	found = append(found, Run(t.Context(), &Machine{}, []Check{
		{"well", func(context.Context, *Machine) Finding { return good("well") }},
	}, time.Minute)...)
	require.Contains(t, found[0].Cause, "at once")
	require.Contains(t, found[1].Cause, "no answer within")
	for _, f := range found[:2] {
		require.Equal(t, Error, f.Result)
		require.NotEmpty(t, f.Fix)
	}
	errs, _ := Count(found)
	require.Equal(t, 2, errs)
	var b strings.Builder
	require.NoError(t, Print(&b, found))
	require.Contains(t, b.String(), "2 errors, 0 warnings, 3 checks")
}
