package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// ErrEvents: the driver reports no errors by NVML; the kernel's log still has them.
var ErrEvents = errors.New("faults: NVML reports no errors of these devices")

// eventWait is how long a call waits for an event, in milliseconds: after it, ctx is looked at.
const eventWait = 1000

// FollowEvents notes the errors that NVML reports, until ctx ends. NVML must be initialised.
func (s *Standing) FollowEvents(ctx context.Context, n nvml.Interface) error {
	set, ret := n.EventSetCreate()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%w: %v", ErrEvents, ret)
	}
	defer set.Free()
	count, ret := n.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%w: %v", ErrEvents, ret)
	}
	watched := 0
	for i := range count {
		if d, ret := n.DeviceGetHandleByIndex(i); ret == nvml.SUCCESS && d.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			watched++
		}
	}
	if watched == 0 {
		return ErrEvents
	}
	for ctx.Err() == nil {
		switch e, ret := set.Wait(eventWait); ret {
		case nvml.SUCCESS:
			if p, ret := e.Device.GetPciInfo(); ret == nvml.SUCCESS && e.EventType == nvml.EventTypeXidCriticalError {
				s.event(n, e, Bus{p.Domain, uint8(p.Bus), uint8(p.Device)})
			}
		case nvml.ERROR_TIMEOUT:
		default: // a device was lost, or the driver is being unloaded
			return fmt.Errorf("%w any more: %v", ErrEvents, ret)
		}
	}
	return ctx.Err()
}

// event notes an event. That of code 154 does not say what the driver needs: the device does.
func (s *Standing) event(n nvml.Interface, e nvml.EventData, at Bus) {
	r := report{bus: at, code: e.EventData}
	if r.code == recovery {
		if n.Extensions().LookupSymbol("nvmlDeviceGetFieldValues") != nil {
			return
		}
		var says bool
		if r.action, says = ActionOf(e.Device); !says {
			return
		}
	}
	s.note(r)
}
