package jobspec

import "github.com/gantry-market/gantry/sdk/messages"

// Share is what comes with a lease's GPUs, or what a machine has for all its leases: each gets the part that its GPUs are of
// all. 0 is not known, and not limited.
type Share struct {
	CPUs      float64 // threads of the processors
	MemoryMiB uint64
	DiskMiB   uint64
}

// Part is what of a whole machine belongs to some of all its GPUs.
func (s Share) Part(gpus, all int) Share {
	part := func(whole float64) float64 { return whole * float64(gpus) / float64(max(all, gpus, 1)) }
	return Share{CPUs: part(s.CPUs), MemoryMiB: uint64(part(float64(s.MemoryMiB))), DiskMiB: uint64(part(float64(s.DiskMiB)))}
}

// DiskMiB is what a job takes of its lease's disk: its volume and the container's files. 0 asks for nothing.
func DiskMiB(job messages.JobSpec) uint64 {
	if job.Volume == nil {
		return job.DiskMiB
	}
	return job.Volume.MiB + max(job.DiskMiB, MinFilesMiB)
}

// MoreGPUs is what helps where a lease's share is too small.
const MoreGPUs = "order more GPUs of a node: each comes with its share of the machine"

// CheckShare says what of a job is more than its lease's share of the machine. Nothing is cut: an order asks for what its job
// names. Error: [*Error].
func CheckShare(job messages.JobSpec, s Share) error {
	switch disk := DiskMiB(job); {
	case s.CPUs > 0 && float64(job.CPUs) > s.CPUs:
		return wrong(RuleShare, CPUs, "ask for less, or "+MoreGPUs, "%d CPUs are more than the lease's %.4g", job.CPUs, s.CPUs)
	case s.MemoryMiB > 0 && job.MemoryMiB > s.MemoryMiB:
		return wrong(RuleShare, Memory, "ask for less, or "+MoreGPUs, "%d MiB of memory are more than the lease's %d", job.MemoryMiB, s.MemoryMiB)
	case s.DiskMiB == 0 || disk <= s.DiskMiB:
		return nil
	case job.Volume != nil:
		return wrong(RuleShare, Volume, "make it smaller, or "+MoreGPUs,
			"the volume's %d MiB and %d MiB for the container's other files are more than the lease's %d MiB of the disk", job.Volume.MiB, disk-job.Volume.MiB, s.DiskMiB)
	default:
		return wrong(RuleShare, Disk, "ask for less, or "+MoreGPUs, "%d MiB of disk are more than the lease's %d", disk, s.DiskMiB)
	}
}
