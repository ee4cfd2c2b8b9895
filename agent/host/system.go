package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// detectSystem fills in what /proc and /sys say, as far as they say it.
func detectSystem(ctx context.Context, inv *Inventory) error {
	var errs []error
	fail := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s unknown: %w", what, err))
		}
	}
	infos, err := cpu.InfoWithContext(ctx)
	fail("processor model", err)
	guest := false
	if len(infos) > 0 {
		inv.CPU.Model = infos[0].ModelName
		for _, f := range infos[0].Flags {
			guest = guest || f == "hypervisor"
		}
	}
	inv.CPU.Cores, err = cpu.CountsWithContext(ctx, false)
	fail("number of cores", err)
	inv.CPU.Threads, err = cpu.CountsWithContext(ctx, true)
	fail("number of threads", err)
	if inv.CPU.Cores == 0 { // some guests do not show the topology
		inv.CPU.Cores = inv.CPU.Threads
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	fail("memory size", err)
	if err == nil {
		inv.RAMMiB = memory.Total / mib
	}
	inv.Host.Kernel, err = host.KernelVersionWithContext(ctx)
	fail("kernel", err)
	platform, _, version, err := host.PlatformInformationWithContext(ctx)
	fail("platform", err)
	inv.Host.Platform = platform
	if version != "" {
		inv.Host.Platform += " " + version
	}
	system, role, err := host.VirtualizationWithContext(ctx)
	fail("virtualisation", err)
	switch {
	case role == "guest" && system != "":
		inv.Host.Virtualization = system
	case guest:
		inv.Host.Virtualization = "unknown hypervisor"
	}
	return errors.Join(errs...)
}

func detectDisk(ctx context.Context, inv *Inventory, o DetectOptions) error {
	inv.Disk.Path = o.DiskPath
	usage, err := disk.UsageWithContext(ctx, o.DiskPath)
	if err != nil {
		return fmt.Errorf("free disk space unknown: %w", err)
	}
	inv.Disk.FreeGiB = usage.Free / gib
	if o.DiskTestBytes <= 0 {
		inv.Disk.Speed.Note = "not measured: not asked for"
		return nil
	}
	if inv.Disk.Speed, err = MeasureDisk(ctx, o.DiskPath, o.DiskTestBytes); err != nil {
		inv.Disk.Speed.Note = "not measured: " + err.Error()
	}
	return nil
}
