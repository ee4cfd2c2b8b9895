package host

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gantry-market/gantry/attest"
)

// Attestation is what a GPU in confidential mode says about itself, or why it says nothing.
type Attestation struct {
	Index int
	// Report and Chain are as the driver returns them: see attest/nvgpu.
	Report, Chain []byte
	// Err is not nil if there is no report: attest.ErrAbsent where the GPU or its driver has none to give.
	Err error
}

// Attest asks every GPU for a signed report over a nonce. The error is attest.ErrAbsent, with the reason, when no GPU
// of this machine can give one.
func (g *GPUs) Attest(ctx context.Context, nonce [32]byte) ([]Attestation, error) {
	if err := g.canAttest(); err != nil {
		return nil, err
	}
	var out []Attestation
	err := g.handles(ctx, func(i int, d nvml.Device, ret nvml.Return) error {
		a := Attestation{Index: i}
		if ret == nvml.SUCCESS {
			a.Report, a.Chain, a.Err = attestDevice(d, nonce)
		} else {
			a.Err = &SilentError{Index: i, What: "handle", Ret: ret}
		}
		out = append(out, a)
		return nil
	})
	return out, err
}

// canAttest says why the driver gives no reports.
func (g *GPUs) canAttest() error {
	absent := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), attest.ErrAbsent)
	}
	if g.Simulated() {
		return absent("the GPUs are simulated")
	}
	for _, symbol := range []string{
		"nvmlSystemGetConfComputeState", "nvmlDeviceGetConfComputeGpuAttestationReport", "nvmlDeviceGetConfComputeGpuCertificate",
	} {
		if !g.has(symbol) {
			return absent("the NVIDIA driver is too old: it has no %s", symbol)
		}
	}
	switch state := g.confidential(); state {
	case CCOn, CCDevTools:
	case CCOff:
		return absent("confidential computing is off on this machine's GPUs")
	default:
		return absent("the driver does not say whether confidential computing is on")
	}
	if g.has("nvmlSystemGetConfComputeGpusReadyState") {
		if ready, ret := g.n.SystemGetConfComputeGpusReadyState(); ret == nvml.SUCCESS && ready != nvml.CC_ACCEPTING_CLIENT_REQUESTS_TRUE {
			return absent("confidential computing is on, but the GPUs are not set ready for work (nvidia-smi conf-compute -srs 1)")
		}
	}
	return nil
}

func attestDevice(d nvml.Device, nonce [32]byte) (report, chain []byte, err error) {
	r := nvml.ConfComputeGpuAttestationReport{Nonce: nonce}
	if ret := d.GetConfComputeGpuAttestationReport(&r); ret != nvml.SUCCESS {
		return nil, nil, attestError("report", ret)
	}
	c, ret := d.GetConfComputeGpuCertificate()
	if ret != nvml.SUCCESS {
		return nil, nil, attestError("certificate chain", ret)
	}
	if int(r.AttestationReportSize) > len(r.AttestationReport) || int(c.AttestationCertChainSize) > len(c.AttestationCertChain) {
		return nil, nil, fmt.Errorf("%w: report of %d and chain of %d bytes are longer than there is room", ErrNVML,
			r.AttestationReportSize, c.AttestationCertChainSize)
	}
	return r.AttestationReport[:r.AttestationReportSize], c.AttestationCertChain[:c.AttestationCertChainSize], nil
}

func attestError(what string, ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND:
		return fmt.Errorf("the GPU has no %s: %w", what, attest.ErrAbsent)
	case nvml.ERROR_NO_PERMISSION:
		return fmt.Errorf("%w: %s: no permission", ErrNVML, what)
	}
	return fmt.Errorf("%w: %s: %v", ErrNVML, what, ret)
}
