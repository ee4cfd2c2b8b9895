package jobspec

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/gantry-market/gantry/sdk/messages"
)

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

// Layers of images are about two and a half times as large on a disk as in a registry, which says only the latter: twice for libraries of
// CUDA, nearly three times for packages of Python.
const unpackedBy, unpackedOf = 5, 2

// ImageMiB is about what an image takes of its lease's disk when it is unpacked, MiB: known before the order.
func ImageMiB(m *v1.Manifest) uint64 {
	sum := uint64(0)
	for _, layer := range m.Layers {
		bytes := uint64(min(max(0, layer.Size), MaxImageBytes))
		if layer.MediaType != types.OCIUncompressedLayer && layer.MediaType != types.DockerUncompressedLayer {
			bytes = bytes * unpackedBy / unpackedOf
		}
		sum += bytes
	}
	return min(sum+1<<20-1, MaxImageBytes) >> 20
}

// OrderDiskMiB is what an order asks of a machine's disk for a job: its volume, the container's files and the image. 0 asks for nothing.
func OrderDiskMiB(job messages.JobSpec, imageMiB uint64) uint64 {
	if imageMiB == 0 {
		return DiskMiB(job)
	}
	return max(DiskMiB(job), MinFilesMiB) + imageMiB
}

// ImageRoomMiB is what a lease's share of the disk has for the job's image; 0 for no limit. A share without any has one MiB.
func ImageRoomMiB(job messages.JobSpec, s Share) uint64 {
	if s.DiskMiB == 0 {
		return 0
	}
	return s.DiskMiB - min(max(DiskMiB(job), MinFilesMiB), s.DiskMiB-1)
}
