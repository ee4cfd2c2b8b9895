//go:build linux && (amd64 || arm64)

// Package fakecuda builds and controls a library that imitates the driver and cuBLASLt, for tests. Kernels run in
// package ptxsim's interpreter. Everything that it says about itself is marked as simulated.
package fakecuda

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gantry-market/gantry/attest/measure/internal/ptxsim"
)

//go:embed testdata/fakecuda.c
var code []byte

// Library is a built and loaded imitation.
type Library struct {
	// Path is what to open as the driver and as cuBLASLt.
	Path string

	fail    func(name string, after, code int32)
	device  func(count, driver, major, minor int32, memory uint64)
	alive   func(what int32) int32
	wrong   func(on int32)
	memory  uintptr
	mu      sync.Mutex
	idle    bool
	parsed  map[string]map[string]*ptxsim.Kernel
	failure error
}

// launch is struct launch of the C code.
type launch struct {
	image, name *byte
	grid, block [3]uint32
	params      *[16]*uint64
}

// Build compiles a fresh library, so that tests share no state, or skips the test where there is no C compiler.
func Build(t testing.TB) *Library {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) to build the imitation of libcuda with")
	}
	dir := t.TempDir()
	source, path := filepath.Join(dir, "fakecuda.c"), filepath.Join(dir, "libfakecuda.so")
	if err := os.WriteFile(source, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O3", "-pthread", "-Wall", "-Werror", "-o", path, source).CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	l := &Library{Path: path, parsed: map[string]map[string]*ptxsim.Kernel{}}
	purego.RegisterLibFunc(&l.fail, handle, "fake_fail")
	purego.RegisterLibFunc(&l.device, handle, "fake_device")
	purego.RegisterLibFunc(&l.alive, handle, "fake_alive")
	purego.RegisterLibFunc(&l.wrong, handle, "fake_wrong")
	if l.memory, err = purego.Dlsym(handle, "fake_memory"); err != nil {
		t.Fatal(err)
	}
	var setLauncher func(uintptr)
	purego.RegisterLibFunc(&setLauncher, handle, "fake_launcher")
	setLauncher(purego.NewCallback(l.launch))
	return l
}

// Fail makes the named function fail once, after a number of good calls.
func (l *Library) Fail(name string, after, code int) { l.fail(name, int32(after), int32(code)) }

// Device sets what the imitation says about itself: driver 12040 is CUDA 12.4.
func (l *Library) Device(count, driver, major, minor int, memory uint64) {
	l.device(int32(count), int32(driver), int32(major), int32(minor), memory)
}

// Wrong makes cuBLASLt's products wrong by one.
func (l *Library) Wrong(on bool) {
	v := int32(0)
	if on {
		v = 1
	}
	l.wrong(v)
}

// Idle makes kernels do nothing, for tests of the calls around them.
func (l *Library) Idle(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = on
}

// Alive is what has not been given back.
type Alive struct{ Contexts, Modules, Bytes, Pushed, BLAS int }

// Alive counts.
func (l *Library) Alive() Alive {
	return Alive{int(l.alive(0)), int(l.alive(1)), int(l.alive(2)), int(l.alive(3)), int(l.alive(4))}
}

// Launches counts kernel launches.
func (l *Library) Launches() int { return int(l.alive(5)) }

// Failure is what went wrong in a kernel, if anything did.
func (l *Library) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// launch runs a kernel; any result but 0 fails the launch.
func (l *Library) launch(in *launch) uintptr {
	err := l.run(in)
	if err == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
	return 1
}

func (l *Library) run(in *launch) error {
	image, name := cstring(in.image), cstring(in.name)
	l.mu.Lock()
	kernels, ok := l.parsed[image]
	idle := l.idle
	l.mu.Unlock()
	if idle {
		return nil
	}
	if !ok {
		var err error
		if kernels, err = ptxsim.Parse(image); err != nil {
			return err
		}
		l.mu.Lock()
		l.parsed[image] = kernels
		l.mu.Unlock()
	}
	k := kernels[name]
	params := make([]uint64, k.Params)
	for i := range params {
		params[i] = *in.params[i]
	}
	return k.Run(l.snapshot(), ptxsim.Launch{Grid: in.grid, Block: in.block, Params: params})
}

type slot struct {
	at   uint64
	data []byte
}

// table is the device's memory during a launch.
type table []slot

func (l *Library) snapshot() table {
	var t table
	for i := uintptr(0); ; i++ {
		var at, size uint64
		var host *byte
		more, _, _ := purego.SyscallN(l.memory, i, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&host)))
		runtime.KeepAlive(&host)
		if uint32(more) == 0 {
			return t
		}
		if host != nil {
			t = append(t, slot{at, unsafe.Slice(host, size)})
		}
	}
}

// At implements [ptxsim.Memory].
func (t table) At(address uint64, size int) []byte {
	for _, s := range t {
		if address >= s.at && address-s.at <= uint64(len(s.data)) && uint64(len(s.data))-(address-s.at) >= uint64(size) {
			return s.data[address-s.at : address-s.at+uint64(size)]
		}
	}
	return nil
}

func cstring(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
