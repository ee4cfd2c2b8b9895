package buy

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

// share is what comes with the GPUs of an order, the most of several machines.
type share struct {
	cores, ramMiB, diskGiB uint32
	cuda                   market.CUDA
}

// widen takes a machine's share into account.
func (s *share) widen(n *market.Node, gpus uint8) {
	cores, ram, disk := n.Share(gpus)
	s.cores, s.ramMiB, s.diskGiB = max(s.cores, cores), max(s.ramMiB, ram), max(s.diskGiB, disk)
	s.cuda = max(s.cuda, market.CUDA(n.Spec.Cuda))
}

// shareAdvice says what of an order is more than the machines have that are refused for it, and how much they have at most.
func (t *terms) shareAdvice(most share) string {
	r := &t.args.Requirement
	var asked []string
	note := func(over bool, format string, args ...any) {
		if over {
			asked = append(asked, fmt.Sprintf(format, args...))
		}
	}
	note(r.MinCpuCores > most.cores, "--cpus %d of %d", r.MinCpuCores, most.cores)
	note(r.MinRamMib > most.ramMiB, "--memory %d MiB of %d", r.MinRamMib, most.ramMiB)
	note(r.MinDiskGib > most.diskGiB, "%d GiB of disk with the volume, of %d", r.MinDiskGib, most.diskGiB)
	note(market.CUDA(r.MinCuda) > most.cuda, "CUDA %s%s of %s", market.CUDA(r.MinCuda), t.cudaOf(), most.cuda)
	if len(asked) == 0 {
		return "no single machine has all that it asks for: ask for less, or order more GPUs of a node: each comes with its share of the machine"
	}
	return "too much for these machines: " + strings.Join(asked, ", ") + "; ask for less, or order more GPUs of a node: each comes with its share of the machine"
}

// cudaOf says that an order's version of CUDA is its image's.
func (t *terms) cudaOf() string {
	if t.cudaByImage {
		return " (the image needs it)"
	}
	return ""
}
