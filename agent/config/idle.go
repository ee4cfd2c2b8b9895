package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

// IdleJob is the owner's own container, which has the GPUs while nobody rents them.
type IdleJob struct {
	// Image is a reference, with or without a digest. Only on local networks it may be empty: then the command is a process.
	Image      string            `yaml:"image,omitempty"`
	Entrypoint string            `yaml:"entrypoint,omitempty"`
	Command    []string          `yaml:"command,omitempty"`
	Env        map[string]string `yaml:"env,omitempty"`
	User       string            `yaml:"user,omitempty"`
	// Network is "internet", the default, or "none".
	Network string `yaml:"network,omitempty"`
	// GPUs is how many it takes: "all", the default, for as many as are free, or a number.
	GPUs string `yaml:"gpus,omitempty"`
	// CPUs, MemoryGiB and DiskGiB are at most the part of the machine that its GPUs are, which CPUs and MemoryGiB take if they are 0.
	CPUs      float64 `yaml:"cpus,omitempty"`
	MemoryGiB uint64  `yaml:"memory_gib,omitempty"`
	DiskGiB   uint64  `yaml:"disk_gib,omitempty"`
}

// DefaultIdleDisk is what an idle job may write if its settings do not say, GiB.
const DefaultIdleDisk = 10

// maxIdleGPUs is more than a node has.
const maxIdleGPUs = 64

// Job is what the settings ask for, as customers' jobs are written. Error: ErrConfig.
func (j IdleJob) Job() (messages.JobSpec, error) {
	spec := messages.JobSpec{
		Image: j.Image, Entrypoint: j.Entrypoint, Command: j.Command, Env: j.Env, User: j.User,
		MemoryMiB: j.MemoryGiB << 10, DiskMiB: j.DiskGiB << 10,
	}
	if spec.DiskMiB == 0 && j.Image != "" {
		spec.DiskMiB = DefaultIdleDisk << 10
	}
	fail := func(err error) (messages.JobSpec, error) { return spec, fmt.Errorf("%w: idle: %w", ErrConfig, err) }
	switch j.Network {
	case "none":
	case "", messages.NetworkInternet:
		if j.Image != "" {
			spec.Network = messages.NetworkInternet
		}
	default:
		return fail(fmt.Errorf("network %q; use internet or none", j.Network))
	}
	if j.MemoryGiB > 1<<20 || j.DiskGiB > 1<<20 || j.CPUs < 0 || j.CPUs > 1<<20 {
		return fail(fmt.Errorf("cpus %g, memory_gib %d, disk_gib %d; give what the machine has at most, or leave them out", j.CPUs, j.MemoryGiB, j.DiskGiB))
	}
	if _, err := j.Count(); err != nil {
		return spec, err
	}
	if j.Image != "" {
		if _, err := name.ParseReference(j.Image); err != nil {
			return fail(fmt.Errorf("image %q is not a reference such as docker.io/library/debian:12: %w", j.Image, err))
		}
	} else if len(j.Command) == 0 {
		return fail(fmt.Errorf("there is no image; name one, such as image: docker.io/library/debian:12"))
	}
	if err := jobspec.CheckContent(spec); err != nil {
		return fail(err)
	}
	return spec, nil
}

// Count is how many GPUs the job takes; 0 for as many as are free. Error: ErrConfig.
func (j IdleJob) Count() (int, error) {
	if j.GPUs == "" || strings.EqualFold(j.GPUs, "all") {
		return 0, nil
	}
	n, err := strconv.Atoi(j.GPUs)
	if err != nil || n < 1 || n > maxIdleGPUs {
		return 0, fmt.Errorf("%w: idle: gpus %q; use all, or a number from 1", ErrConfig, j.GPUs)
	}
	return n, nil
}
