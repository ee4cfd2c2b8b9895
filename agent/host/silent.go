package host

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// SilentError says that one GPU does not answer, or not with what the market must know of it. It says nothing of the others.
type SilentError struct {
	Index int
	// Model and UUID are empty where the driver does not say them either.
	Model, UUID string
	// What was asked, and what the driver answered.
	What string
	Ret  nvml.Return
}

func (e *SilentError) Error() string {
	name := fmt.Sprintf("GPU %d", e.Index)
	if e.Model != "" {
		name += ", " + e.Model + ","
	}
	if e.What == "memory" && e.Ret == nvml.ERROR_NOT_SUPPORTED {
		return name + " has no memory of its own that the driver reports; the market does not know such GPUs"
	}
	return fmt.Sprintf("%s does not answer: %s: %s", name, e.What, answer(e.Ret))
}

// Is makes each of them an ErrNVML.
func (e *SilentError) Is(target error) bool { return target == ErrNVML }

// NeedsReset is the answer of a driver that has a device reset before it says anything else of it.
const NeedsReset = "the GPU needs a reset"

// answer is an answer of the driver in words. NVML's own need the library.
func answer(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_GPU_IS_LOST:
		return "the GPU is lost"
	case nvml.ERROR_RESET_REQUIRED:
		return NeedsReset
	case nvml.ERROR_UNKNOWN:
		return "unknown error"
	case nvml.ERROR_IRQ_ISSUE:
		return "the GPU's interrupts do not arrive"
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported"
	case nvml.ERROR_GPU_NOT_FOUND:
		return "the GPU is not found"
	}
	return fmt.Sprintf("NVML error %d", int32(ret))
}

// silences are the devices that an error of List names.
func silences(err error) []*SilentError {
	var one *SilentError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*SilentError
		for _, e := range joined.Unwrap() {
			out = append(out, silences(e)...)
		}
		return out
	}
	if errors.As(err, &one) {
		return []*SilentError{one}
	}
	return nil
}

// ofDriver reports whether an answer is about the driver as a whole, whatever device was asked for.
func ofDriver(ret nvml.Return) bool {
	switch ret {
	case nvml.ERROR_UNINITIALIZED, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIB_RM_VERSION_MISMATCH, nvml.ERROR_LIBRARY_NOT_FOUND,
		nvml.ERROR_FUNCTION_NOT_FOUND:
		return true
	}
	return false
}

// silent reports whether a reading that every device has says that this one does not answer. A device without the sensor does.
func silent(ret nvml.Return) bool {
	switch ret {
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED, nvml.ERROR_UNKNOWN, nvml.ERROR_IRQ_ISSUE, nvml.ERROR_TIMEOUT,
		nvml.ERROR_GPU_NOT_FOUND:
		return true
	}
	return false
}
