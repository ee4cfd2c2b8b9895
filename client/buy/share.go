package buy

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/client/service"
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
	note(r.MinDiskGib > most.diskGiB, "%s of %d", t.disk(), most.diskGiB)
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

// disk is what an order asks of the disk, and what of it is not the files of the job.
func (t *terms) disk() string {
	var with []string
	if t.job.Volume != nil {
		with = append(with, "the volume")
	}
	if t.image.mib > 0 {
		with = append(with, "the image's "+about(t.image.mib))
	}
	text := fmt.Sprintf("%d GiB of disk", t.args.Requirement.MinDiskGib)
	if len(with) == 0 {
		return text
	}
	return text + " (with " + strings.Join(with, " and ") + ")"
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
		all = append(all, t.disk())
	}
	if r.MinCuda > 0 {
		all = append(all, "CUDA "+market.CUDA(r.MinCuda).String()+t.cudaOf())
	}
	if len(all) == 0 {
		return ""
	}
	return " with " + strings.Join(all, ", ")
}

// about is a number of MiB for people where it is an estimate.
func about(mib uint64) string {
	if mib < 1<<10 {
		return fmt.Sprintf("%d MiB or so", mib)
	}
	return fmt.Sprintf("%d GiB or so", service.GiB(mib))
}

// size is a number of MiB as people say it.
func size(mib uint32) string {
	if mib >= 1<<10 && mib%(1<<10) == 0 {
		return fmt.Sprintf("%d GiB", mib>>10)
	}
	return fmt.Sprintf("%d MiB", mib)
}
