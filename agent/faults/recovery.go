package faults

import (
	"encoding/binary"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Action is what the driver needs before a GPU can be relied on again, by NVML's numbers.
type Action uint32

// Actions. NoAction is the driver's None.
const (
	NoAction      = Action(nvml.GPU_RECOVERY_ACTION_NONE)
	Reset         = Action(nvml.GPU_RECOVERY_ACTION_GPU_RESET)
	Reboot        = Action(nvml.GPU_RECOVERY_ACTION_NODE_REBOOT)
	DrainPeers    = Action(nvml.GPU_RECOVERY_ACTION_DRAIN_P2P)
	DrainAndReset = Action(nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET)
)

func (a Action) String() string {
	switch a {
	case NoAction:
		return "nothing"
	case Reset:
		return "a reset of the GPU"
	case Reboot:
		return "a restart of the machine"
	case DrainPeers:
		return "an end of the work that several GPUs do together"
	case DrainAndReset:
		return "an end of all work, and a reset of the GPU"
	}
	return fmt.Sprintf("recovery action %d", uint32(a))
}

// Fix is what a person types for it.
func (a Action) Fix(gpu int) string {
	switch a {
	case Reboot:
		return "sudo gantry-agent drain; sudo reboot"
	case DrainPeers:
		return "sudo gantry-agent drain"
	}
	return fmt.Sprintf("sudo gantry-agent drain; sudo nvidia-smi -i %d -r", gpu)
}

// ActionOf asks the driver for a device's recovery action; false where the driver or the device does not say it. The driver must
// have the function nvmlDeviceGetFieldValues.
func ActionOf(d nvml.Device) (Action, bool) {
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if ret := d.GetFieldValues(values); ret != nvml.SUCCESS || nvml.Return(values[0].NvmlReturn) != nvml.SUCCESS {
		return NoAction, false
	}
	return Action(binary.LittleEndian.Uint32(values[0].Value[:4])), true
}
