package buy

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/jobspec"
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

// moreGPUs is what helps where a machine's share of cores, memory or disk is too small.
const moreGPUs = "ask for less, or " + jobspec.MoreGPUs

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
	note(r.MinRamMib > most.ramMiB, "--memory %s of %s", size(r.MinRamMib), size(most.ramMiB))
	note(r.MinDiskGib > most.diskGiB, "%d GiB of disk with the volume, of %d", r.MinDiskGib, most.diskGiB)
	helps := moreGPUs
	if cuda := market.CUDA(r.MinCuda); cuda > most.cuda {
		if len(asked) == 0 {
			helps = "name an image for an older CUDA, or another model of GPU"
		}
		note(true, "CUDA %s%s of %s", cuda, t.cudaOf(), most.cuda)
	}
	if len(asked) == 0 {
		return "no single machine has all that it asks for: " + moreGPUs
	}
	return "too much for these machines: " + strings.Join(asked, ", ") + "; " + helps
}

// cudaOf says that an order's version of CUDA is its image's.
func (t *terms) cudaOf() string {
	if t.cudaByImage {
		return " (the image needs it)"
	}
	return ""
}

// needs is what an order asks of a machine besides its GPUs, in words that follow the GPUs; empty for nothing.
func (t *terms) needs() string {
	r := &t.args.Requirement
	var all []string
	if r.MinCpuCores > 0 {
		all = append(all, fmt.Sprintf("%d cores", r.MinCpuCores))
	}
	if r.MinRamMib > 0 {
		all = append(all, size(r.MinRamMib)+" of memory")
	}
	if r.MinDiskGib > 0 {
		all = append(all, fmt.Sprintf("%d GiB of disk", r.MinDiskGib))
	}
	if r.MinCuda > 0 {
		all = append(all, "CUDA "+market.CUDA(r.MinCuda).String()+t.cudaOf())
	}
	if len(all) == 0 {
		return ""
	}
	return " with " + strings.Join(all, ", ")
}

// size is a number of MiB as people say it.
func size(mib uint32) string {
	if mib >= 1<<10 && mib%(1<<10) == 0 {
		return fmt.Sprintf("%d GiB", mib>>10)
	}
	return fmt.Sprintf("%d MiB", mib)
}
