package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// toolkit puts a program in PATH that says of two GPUs what NVIDIA's says of real ones. Their devices are harmless: those of
// /dev/null.
func toolkit(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	// A new /dev for this test's own namespace: nothing of the machine's is in it.
	require.Equal(t, 1, os.Getpid(), "not in namespaces of the test's own")
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	require.NoError(t, unix.Mount("tmpfs", "/dev", "tmpfs", 0, "mode=755"))
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "random": 8, "urandom": 9} {
		require.NoError(t, unix.Mknod("/dev/"+name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))))
	}
	node := func(name string) map[string]any {
		require.NoError(t, unix.Mknod("/dev/"+name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
		return map[string]any{"path": "/dev/" + name}
	}
	const libraries = "/usr/local/nvidia/lib64" // where some machines have their driver
	library := filepath.Join(dir, "libcuda.so.550.90.12")
	require.NoError(t, os.WriteFile(library, []byte("the driver's library"), 0o644))
	socket := filepath.Join(dir, "socket")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socket}))
	require.NoError(t, unix.Close(fd))
	gpu := func(i int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("GPU-%d", i), "containerEdits": map[string]any{"deviceNodes": []any{node(fmt.Sprintf("nvidia%d", i))}}}
	}
	raw, err := json.Marshal(map[string]any{
		"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": []any{gpu(0), gpu(1)},
		"containerEdits": map[string]any{
			"env":         []string{"NVIDIA_VISIBLE_DEVICES=void"},
			"deviceNodes": []any{node("nvidiactl"), node("nvidia-uvm"), node("nvidia-modeset")},
			"mounts": []any{
				map[string]any{"hostPath": library, "containerPath": libraries + "/libcuda.so.550.90.12"},
				map[string]any{"hostPath": socket, "containerPath": "/run/nvidia-persistenced/socket"},
			},
			"hooks": []any{map[string]any{
				"hookName": "createContainer", "path": filepath.Join(dir, "hook"),
				"args": []string{"nvidia-cdi-hook", "create-symlinks", "--link", "libcuda.so.550.90.12::" + libraries + "/libcuda.so.1", "--link", "libcuda.so.1::" + libraries + "/libcuda.so"},
			}},
		},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hook"), []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "hooked")+"\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spec.json"), raw, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-ctk"), []byte("#!/bin/sh\nexec cat "+filepath.Join(dir, "spec.json")+"\n"), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Cleanup(func() { require.NoFileExists(t, filepath.Join(dir, "hooked"), "no hook ran") })
}

// A container gets its lease's GPUs and no others, the driver's libraries by the names that programs look for, and no
// service of the machine. The sandbox is the real one; there is no GPU behind the devices.
func TestAContainerGetsItsLeasesGPUs(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	p, _ := containers(t)
	empty := imagetest.File("usr/lib64/libcuda.so.1", "") // as images have it that were made on a machine with GPUs
	own := imagetest.File("usr/lib64/libcuda.so.550.90.12", "of the image")
	ref := jobImage(t, folder("usr/lib64"), empty, own, folder("usr/lib/x86_64-linux-gnu"))
	toolkit(t)
	driver, err := gpus.Prepare(t.Context(), filepath.Join(t.TempDir(), "gpus"), p.sandbox.Runsc, "550.90.12")
	require.NoError(t, err)
	p.sandbox.GPUs = driver
	st, out := ran(t, p, Spec{
		LeaseID: "l", Image: ref, GPUMask: 2, GPUUUIDs: []string{"GPU-1"},
		Command: []string{
			"list=/dev", "list=/usr/local/gantry/lib64", "get=/usr/local/gantry/lib64/libcuda.so", "get=/usr/local/gantry/lib64/libcuda.so.1", "get=/usr/lib64/libcuda.so.1",
			"get=/usr/lib64/libcuda.so.550.90.12", "get=/usr/lib/x86_64-linux-gnu/libcuda.so.1", "env=LD_LIBRARY_PATH", "env=CUDA_VISIBLE_DEVICES", "env=GANTRY_GPUS",
		},
	})
	require.Equal(t, 0, st.Exit.Code, "%+v %s", st.Exit, out)
	t.Log(out)
	for _, there := range []string{
		"entry nvidiactl\n", "entry nvidia-uvm\n", "entry nvidia1\n", "entry libcuda.so.1\n", "entry libcuda.so\n", `libcuda.so "the driver's library"`, `libcuda.so.1 "the driver's library"`,
		`/usr/lib64/libcuda.so.1 "the driver's library"`, `/usr/lib64/libcuda.so.550.90.12 "of the image"`, `/usr/lib/x86_64-linux-gnu/libcuda.so.1 "the driver's library"`, "LD_LIBRARY_PATH /usr/local/gantry/lib64\n", "CUDA_VISIBLE_DEVICES \n", "GANTRY_GPUS 0\n",
	} {
		require.Contains(t, out, there)
	}
	for _, absent := range []string{"nvidia0", "nvidia-modeset", "nvidia-persistenced"} {
		require.NotContains(t, out, absent)
	}
	st, out = ran(t, p, Spec{LeaseID: "none", Image: ref, Command: []string{"list=/dev"}})
	require.Equal(t, 0, st.Exit.Code, out)
	require.NotContains(t, out, "nvidia", "a lease without GPUs sees none")
	st, _ = ran(t, p, Spec{LeaseID: "other", Image: ref, GPUMask: 1, GPUUUIDs: []string{"GPU-9"}, Command: []string{"list=/dev"}})
	require.Equal(t, ReasonStartFailed, st.Exit.Reason)
	require.Contains(t, st.Exit.Message, "it has no device GPU-9")
}

// An image for another driver is refused before the lease starts, so that the order goes to another machine. A lease without GPUs,
// and a customer that knows better, are not asked.
func TestAnImageForAnotherDriverIsRefused(t *testing.T) {
	p, _ := containers(t)
	_, digested := imagetest.Serve(t, "amd64", v1.Config{
		Entrypoint: []string{"/bin/job"}, Env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla,driver>=535,driver<536"},
	}, imagetest.Layer(t, imagetest.File("bin/job", jobBinary(t))))
	p.sandbox.GPUs = gpus.Driver{Version: "550.90.12", Facts: gpus.Facts{CUDA: "12.4", Brand: "tesla"}}
	spec := Spec{LeaseID: "l", Image: digested, GPUMask: 1, GPUUUIDs: []string{"GPU-1"}}
	for range 2 { // the image is there the second time
		err := p.Prepare(background(t), spec, Pull{})
		require.ErrorIs(t, err, ErrSpec)
		require.ErrorContains(t, err, `it needs "cuda>=13.0 or brand=tesla,driver>=535,driver<536", and this machine has driver 550.90.12, CUDA 12.4, brand tesla`)
	}
	spec.LeaseID, spec.Env = "other", map[string]string{"NVIDIA_DISABLE_REQUIRE": "true"}
	require.NoError(t, p.Prepare(background(t), spec, Pull{}))
	st, out := ran(t, p, Spec{LeaseID: "none", Image: digested, Command: []string{"who"}})
	require.Equal(t, 0, st.Exit.Code, out)
}

// Without an environment, as in cron, "su -" and login shells, programs ask the image's cache where the driver's libraries are.
func TestAContainersCacheHasTheDriversLibraries(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	p, _ := containers(t)
	files := imagetest.HostProgram(t, "env")
	for _, at := range []string{"/sbin/ldconfig", "/etc/ld.so.cache"} {
		raw, err := os.ReadFile(at)
		if err != nil || len(files) == 0 {
			t.Skip("SKIPPED: this machine has no env or no glibc for the image of this test")
		}
		files = append(files, imagetest.File(at[1:], string(raw)))
	}
	_, ref := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, files...))
	toolkit(t)
	driver, err := gpus.Prepare(t.Context(), filepath.Join(t.TempDir(), "gpus"), p.sandbox.Runsc, "550.90.12")
	require.NoError(t, err)
	p.sandbox.GPUs = driver
	command := []string{"env", "-i", "/sbin/ldconfig", "-p"}
	st, out := ran(t, p, Spec{LeaseID: "l", Image: ref, GPUMask: 2, GPUUUIDs: []string{"GPU-1"}, Command: command})
	require.Equal(t, 0, st.Exit.Code, "%+v %s", st.Exit, out)
	require.Contains(t, out, "libcuda.so.1 (libc6,x86-64) => /usr/local/gantry/lib64/libcuda.so.1\n")
	require.Contains(t, out, "libc.so.6 (libc6,x86-64")
	st, out = ran(t, p, Spec{LeaseID: "none", Image: ref, Command: command})
	require.Equal(t, 0, st.Exit.Code, "%+v %s", st.Exit, out)
	require.NotContains(t, out, "gantry", "what a container changes is its own")
}
