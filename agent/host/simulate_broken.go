package host

import (
	"os"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// losing is a simulated machine whose first GPU is lost while a file exists.
type losing struct {
	nvml.Interface
	file string
}

func (losing) simulated() bool { return true }

func (l losing) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	if i == 0 {
		if _, err := os.Stat(l.file); err == nil {
			return nil, nvml.ERROR_GPU_IS_LOST
		}
	}
	return l.Interface.DeviceGetHandleByIndex(i)
}

// using is a simulated machine on whose GPUs a process computes that a file names.
type using struct {
	nvml.Interface
	file string
}

func (using) simulated() bool { return true }

func (u using) DeviceGetHandleByUUID(uuid string) (nvml.Device, nvml.Return) {
	d, ret := u.Interface.DeviceGetHandleByUUID(uuid)
	text, err := os.ReadFile(u.file)
	if ret != nvml.SUCCESS || err != nil {
		return d, ret
	}
	pid, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return d, ret
	}
	return usedDevice{d, uint32(pid)}, ret
}

type usedDevice struct {
	nvml.Device
	pid uint32
}

func (d usedDevice) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return []nvml.ProcessInfo{{Pid: d.pid}}, nvml.SUCCESS
}
