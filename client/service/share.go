package service

import (
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
)

// Share is what an order asks of a machine besides its GPUs. Each lease has the part of the machine that its GPUs are of all.
type Share struct {
	CPUs   uint32 `json:"cpus,omitempty" doc:"Processor threads that the job gets, as memoryMiB" jsonschema:"processor threads that the job gets, as memoryMiB"`
	Memory uint64 `json:"memoryMiB,omitempty" doc:"Memory that the job gets. Only machines whose share for these GPUs has it; that share by default" jsonschema:"memory that the job gets, MiB: only machines whose share for these GPUs has it; that share by default"`
	Disk   uint64 `json:"diskMiB,omitempty" doc:"Disk for the files of the job, as memoryMiB; a volume and the image come on top" jsonschema:"disk for the files of the job, MiB, as memoryMiB; a volume and the image come on top"`
	CUDA   string `json:"cuda,omitempty" maxLength:"16" example:"12.8" doc:"CUDA that the machine's driver has at least; what the image's NVIDIA_REQUIRE_CUDA says by default" jsonschema:"CUDA that the machine's driver has at least, such as 12.8; what the image says by default"`
	// Compute: an order names only models with at least this compute capability.
	Compute string `json:"computeCapability,omitempty" maxLength:"16" example:"8.9" doc:"Compute capability of the GPUs, at least; for gpu any or a family. Models that the image does not run on are left out anyway" jsonschema:"compute capability of the GPUs, at least, such as 8.9; for gpu any or a family; models that the image does not run on are left out anyway"`
}

// GiB is a number of MiB in whole GiB, rounded up.
func GiB(mib uint64) uint64 { return (mib + 1<<10 - 1) >> 10 }

// into adds it to the terms of a search. Error: Failure.
func (s Share) into(q *Terms) error {
	q.CPUs, q.RAMMiB, q.DiskGiB = s.CPUs, uint32(min(s.Memory, 1<<32-1)), uint32(min(GiB(s.Disk), 1<<32-1))
	var err error
	if s.Compute != "" {
		if q.Compute, err = class.ParseCompute(s.Compute); err != nil {
			return Usage("compute: "+err.Error(), "")
		}
	}
	if s.CUDA == "" {
		return nil
	}
	if q.CUDA, err = market.ParseCUDA(s.CUDA); err != nil {
		return Usage("cuda: "+err.Error(), "")
	}
	return nil
}
