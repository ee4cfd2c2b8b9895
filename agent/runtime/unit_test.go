package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublicClustersAreRefused(t *testing.T) {
	local := options("").Cluster
	require.NoError(t, local.CheckLocal())
	for name, c := range map[string]Cluster{
		"mainnet":       {GenesisMainnetBeta, local.Endpoints},
		"testnet":       {GenesisTestnet, local.Endpoints},
		"devnet":        {GenesisDevnet, local.Endpoints},
		"no hash":       {"", local.Endpoints},
		"garbled hash":  {"0OIl", local.Endpoints},
		"zero hash":     {"11111111111111111111111111111111", local.Endpoints},
		"no endpoint":   {local.GenesisHash, nil},
		"remote":        {local.GenesisHash, []string{"https://api.mainnet-beta.solana.com"}},
		"one is remote": {local.GenesisHash, []string{"http://127.0.0.1:8899", "ws://10.0.0.1:8900"}},
		"any address":   {local.GenesisHash, []string{"http://0.0.0.0:8899"}},
		"look-alike":    {local.GenesisHash, []string{"http://localhost.example.com:8899"}},
		"user trick":    {local.GenesisHash, []string{"http://127.0.0.1@evil.example/"}},
		"no host":       {local.GenesisHash, []string{"127.0.0.1:8899"}},
	} {
		var refused *NotLocalError
		require.ErrorAs(t, c.CheckLocal(), &refused, name)
		_, err := NewProcess(t.Context(), ProcessOptions{Root: t.TempDir(), Cluster: c})
		require.ErrorAs(t, err, &refused, name)
	}
	require.NoError(t, Cluster{local.GenesisHash, []string{"http://[::1]:8899", "http://LOCALHOST:1", "http://127.8.9.10"}}.CheckLocal())
	_, err := NewProcess(t.Context(), ProcessOptions{Cluster: local})
	require.Error(t, err)
}

func TestParseStat(t *testing.T) {
	line := "42 (a) b (c)) S 1 42 41 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 77 184467 1 1"
	s, err := parseStat([]byte(line))
	require.NoError(t, err)
	require.Equal(t, procStat{pid: 42, parent: 1, session: 41, state: 'S', start: 123456, threads: 1, residentPages: 77}, s)
	for _, bad := range []string{"", "42", "42 (x", "42 (x) S 1", "x (y) S 1 42 41 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 77 1 1 1"} {
		_, err := parseStat([]byte(bad))
		require.Error(t, err, bad)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b (c)) S 1 42 41 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 77 184467 1 1"))
	f.Add([]byte("1 () "))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseStat(b) })
}

func TestDescendants(t *testing.T) {
	all := []procStat{
		{pid: 2, parent: 1},
		{pid: 3, parent: 2},
		{pid: 4, parent: 3, state: 'Z'},
		{pid: 5, parent: 4},
		{pid: 6, parent: 9},
	}
	var pids []int
	for _, s := range descendants(all, 1) {
		pids = append(pids, s.pid)
	}
	require.Equal(t, []int{2, 3, 5}, pids)
}

func TestCgroupFiles(t *testing.T) {
	mount, ok := findCgroup2("22 1 0:20 / /sys/fs/cgroup/x rw - tmpfs t rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
	require.True(t, ok)
	require.Equal(t, "/sys/fs/cgroup", mount)
	_, ok = findCgroup2("")
	require.False(t, ok)

	dir := t.TempDir()
	_, err := makeCgroup(dir, "l", Limits{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("cpuset cpu io\n"), 0o600))
	_, err = makeCgroup(dir, "l", Limits{})
	require.ErrorContains(t, err, "lacks memory, pids")

	// The interface files of a real group are there from the start; here they are made beforehand to see what is
	// written.
	group := filepath.Join(dir, "group")
	require.NoError(t, os.Mkdir(group, 0o700))
	for _, name := range []string{"memory.max", "cpu.max", "pids.max"} {
		require.NoError(t, os.WriteFile(filepath.Join(group, name), nil, 0o600))
	}
	g := &cgroup{path: group}
	require.NoError(t, os.WriteFile(filepath.Join(group, "memory.swap.max"), nil, 0o600))
	require.NoError(t, g.limit(Limits{MemoryMiB: 64, CPUs: 1.5, Processes: 10}))
	for name, want := range map[string]string{"memory.max": "67108864", "cpu.max": "150000 100000", "pids.max": "10", "memory.swap.max": "0"} {
		b, err := os.ReadFile(filepath.Join(group, name))
		require.NoError(t, err)
		require.Equal(t, want, string(b), name)
	}
	require.False(t, g.outOfMemory())
	require.NoError(t, os.WriteFile(filepath.Join(group, "memory.events"), []byte("low 0\noom 1\noom_kill 2\n"), 0o600))
	require.True(t, g.outOfMemory())
	var attr syscall.SysProcAttr
	require.NoError(t, g.place(&attr))
	require.True(t, attr.UseCgroupFD)
	g.remove()
}

func TestCappedWriterSurvivesAFullDisk(t *testing.T) {
	w := &cappedWriter{w: failing{}, left: 100}
	n, err := w.Write([]byte("hello"))
	require.NoError(t, err)
	require.Equal(t, 5, n)
	n, err = w.Write([]byte("hello"))
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A container has only its lease's GPUs, and CUDA counts them from 0 there: no number of the machine's is said, and the
// customer chooses among them. A process without an image has all of the machine's devices, and is told its own.
func TestAContainerCountsItsGPUsFromZero(t *testing.T) {
	spec := Spec{LeaseID: "l", Image: "example.org/image@sha256:" + strings.Repeat("ab", 32), GPUMask: 0b1010_0000, GPUUUIDs: []string{"GPU-f", "GPU-h"}}
	env := containerEnvironment(spec, nil, "/")
	for _, want := range []string{"GANTRY_GPUS=0,1", "GANTRY_GPU_MASK=3", "GANTRY_GPU_COUNT=2", "NVIDIA_VISIBLE_DEVICES=all"} {
		require.Contains(t, env, want)
	}
	for _, pair := range env {
		require.NotContains(t, pair, "CUDA_VISIBLE_DEVICES")
	}
	spec.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "0"}
	require.NoError(t, spec.Validate())
	require.Contains(t, containerEnvironment(spec, []string{"CUDA_VISIBLE_DEVICES=1"}, "/"), "CUDA_VISIBLE_DEVICES=0")
	none := containerEnvironment(Spec{LeaseID: "l", Image: "example.org/image"}, []string{"NVIDIA_VISIBLE_DEVICES=all"}, "/")
	require.Contains(t, none, "NVIDIA_VISIBLE_DEVICES=void")
	require.Contains(t, none, "GANTRY_GPUS=")

	spec.Image, spec.Command = "", []string{"/bin/true"}
	require.ErrorIs(t, spec.Validate(), ErrSpec)
	spec.Env = nil
	require.Contains(t, spec.environment("/"), "CUDA_VISIBLE_DEVICES=GPU-f,GPU-h")
	require.Contains(t, spec.environment("/"), "GANTRY_GPUS=5,7")
}

// What a process in a container may open, and what of its memory /dev/shm may take.
func TestTheLimitsOfAContainer(t *testing.T) {
	soft, hard := Limits{}.containerFiles()
	require.Equal(t, []uint64{1 << 16, 1 << 20}, []uint64{soft, hard})
	soft, hard = Limits{OpenFiles: 7}.containerFiles()
	require.Equal(t, []uint64{7, 7}, []uint64{soft, hard})
	require.Contains(t, mounts(Limits{MemoryMiB: 256})[2].Options, "size=134217728")
	require.NotContains(t, fmt.Sprint(mounts(Limits{})[2].Options), "size")
	for _, l := range []struct{ memory, shm, bytes uint64 }{{256, 200, 200 << 20}, {256, 300, 256 << 20}, {0, 64, 64 << 20}} {
		require.Contains(t, mounts(Limits{MemoryMiB: l.memory, ShmMiB: l.shm})[2].Options, fmt.Sprintf("size=%d", l.bytes))
	}

	// Programs are told in whole processors, since most of them count so.
	spec := Spec{LeaseID: "l", Image: "example.org/image", Limits: Limits{CPUs: 2.9, MemoryMiB: 256}}
	env := containerEnvironment(spec, []string{"GANTRY_CPUS=64"}, "/")
	require.Contains(t, env, "GANTRY_CPUS=2")
	require.Contains(t, env, "GANTRY_MEMORY_MIB=256")
	spec.Limits = Limits{CPUs: 0.3}
	require.Contains(t, containerEnvironment(spec, nil, "/"), "GANTRY_CPUS=1")
	spec.Limits = Limits{}
	for _, pair := range containerEnvironment(spec, nil, "/") {
		require.NotRegexp(t, "^GANTRY_(CPUS|MEMORY_MIB)=", pair)
	}
}

// A container has the variables of its image as "docker run" gives them, those of the loader too; what the node sets is the
// node's.
func TestTheEnvironmentOfAContainer(t *testing.T) {
	spec := Spec{LeaseID: "l", Image: "example.org/image", GPUMask: 2, GPUUUIDs: []string{"GPU-b"}, Env: map[string]string{"MINE": "job", "BOTH": "job"}}
	env := containerEnvironment(spec, []string{
		"FROM=image", "BOTH=image", "PATH=/opt/bin", "LD_LIBRARY_PATH=/opt/lib", "LD_PRELOAD=/opt/malloc.so", "LD_ZERO=a\x00b",
		"GANTRY_LEASE=other", "GANTRY_CHECKPOINT=x", "CUDA_VISIBLE_DEVICES=0,1", "NVIDIA_VISIBLE_DEVICES=all",
	}, "/home/ml")
	for _, want := range []string{
		"FROM=image", "BOTH=job", "MINE=job", "PATH=/opt/bin", "HOME=/home/ml", "LD_LIBRARY_PATH=/opt/lib", "LD_PRELOAD=/opt/malloc.so",
		"GANTRY_LEASE=l", "CUDA_VISIBLE_DEVICES=0,1", "NVIDIA_VISIBLE_DEVICES=all",
	} {
		require.Contains(t, env, want)
	}
	for _, pair := range env {
		require.NotRegexp(t, "^(LD_ZERO|GANTRY_CHECKPOINT)=", pair)
	}
}
