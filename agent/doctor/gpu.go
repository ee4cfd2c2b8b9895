package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest/measure/class"
)

// each judges every GPU that answers; what is wrong with several is one finding with the worst result.
func each(ctx context.Context, m *Machine, fine string, judge func(host.Reading) Finding) Finding {
	r := m.conditions(ctx)
	if r.err != nil || len(r.gpus) == 0 {
		return none("no GPU answers (gpu-driver)")
	}
	out := Finding{Result: OK, Cause: fine}
	var causes, fixes []string
	for _, c := range r.gpus {
		if c.Silent != "" {
			continue
		}
		f := judge(c)
		if f.Result != Warning && f.Result != Error {
			continue
		}
		if out.Result != Error {
			out.Result = f.Result
		}
		causes, fixes = append(causes, device(c)+" "+f.Cause), append(fixes, f.Fix)
	}
	if len(causes) > 0 {
		out.Cause, out.Fix = strings.Join(causes, "; "), strings.Join(fixes, "; ")
	}
	return out
}

// checkMissing compares what the driver lists with what is on the bus.
func checkMissing(ctx context.Context, m *Machine) Finding {
	const fix = "sudo gantry-agent drain; lspci -d 10de: ; sudo dmesg | grep -i -e nvrm -e xid; sudo reboot"
	if m.simulated() {
		return none("simulated GPUs are on no bus")
	}
	if m.wsl() {
		return none("this is WSL2 (gpu-driver)")
	}
	onBus, other := 0, ""
	classes, _ := filepath.Glob(m.path("/sys/bus/pci/devices/*/class"))
	for _, file := range classes {
		kind, _ := os.ReadFile(file)
		vendor, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "vendor"))
		// Display controllers: VGA (0300) and 3D (0302).
		if strings.TrimSpace(string(vendor)) == "0x10de" && (strings.HasPrefix(string(kind), "0x0300") || strings.HasPrefix(string(kind), "0x0302")) {
			onBus++
		}
		device, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "device"))
		hex := func(raw []byte) string { return strings.TrimPrefix(strings.TrimSpace(string(raw)), "0x") }
		if u := class.GPUs().Refused(hex(vendor) + ":" + hex(device)); u != nil {
			other = "; " + u.Text()
		}
	}
	r := m.conditions(ctx)
	if onBus == 0 && len(r.gpus) == 0 {
		return bad("lspci -d 10de:", "there is no NVIDIA GPU on the PCI bus%s", other)
	}
	answer, silent, next := 0, "", fix
	for _, c := range r.gpus {
		if c.Silent == "" {
			answer++
			continue
		}
		silent += "; " + device(c) + ": " + c.Silent
		if c.Silent == host.NeedsReset {
			next = fmt.Sprintf("sudo gantry-agent drain; sudo nvidia-smi -i %d -r || sudo reboot", c.Index)
		}
	}
	if lost := max(onBus, len(r.gpus)) - answer; lost > 0 {
		return bad(next, "%d of %d GPUs do not answer; a node that has lost a GPU is not paid%s", lost, max(onBus, len(r.gpus)), silent)
	}
	return good("all %d GPUs answer", answer)
}

func checkMIG(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "no GPU is split", func(c host.Reading) Finding {
		if c.MIG {
			return bad(fmt.Sprintf("sudo nvidia-smi -i %d -mig 0", c.Index), "(%s) is split in instances (MIG); the market rents whole GPUs", c.Model)
		}
		return Finding{}
	})
}

// checkModel finds GPUs that can be no node's.
func checkModel(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "every GPU has its own memory", func(c host.Reading) Finding {
		if !c.Shared {
			return Finding{}
		}
		return bad("gantry market show", "(%s) shares the processor's memory; the market does not know such GPUs", c.Model)
	})
}

// checkFabric looks whether the NVSwitches are set up, on machines that have some.
func checkFabric(ctx context.Context, m *Machine) Finding {
	r := m.conditions(ctx)
	switch {
	case m.simulated():
		return none("simulated GPUs have no NVSwitches")
	case r.driver == "":
		return none("there is no driver (gpu-driver)")
	}
	f := host.Fabric{Root: m.Root, Driver: r.driver, Version: func(ctx context.Context) (string, error) {
		path, err := m.LookPath("nv-fabricmanager")
		if err != nil {
			return "", err
		}
		out, err := m.Output(ctx, path, "--version")
		return string(out), err
	}}
	for _, c := range r.gpus {
		if c.Waits {
			f.Waiting = append(f.Waiting, c.Index)
		}
	}
	if err := f.Check(ctx); err != nil {
		branch, _, _ := strings.Cut(r.driver, ".")
		return bad(fmt.Sprintf("sudo apt-get install -y nvidia-fabricmanager-%s=%s-1 && sudo systemctl enable nvidia-fabricmanager && sudo systemctl restart nvidia-fabricmanager", branch, r.driver),
			"CUDA starts on no GPU, and the agent takes no new work: %v", err)
	}
	return good("NVSwitches are set up, or there are none")
}

// checkRecovery asks the driver what it needs: its messages may have left the log.
func checkRecovery(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "the driver needs nothing for any GPU", func(c host.Reading) Finding {
		if c.Needs == nil || *c.Needs == faults.NoAction {
			return Finding{}
		}
		return bad(c.Needs.Fix(c.Index), "cannot be relied on: the driver needs %v; the agent takes no new work", *c.Needs)
	})
}

func checkPower(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "no GPU's power limit is below its default", func(c host.Reading) Finding {
		if c.PowerLimitMW == nil || c.DefaultPowerLimitMW == nil || *c.PowerLimitMW >= *c.DefaultPowerLimitMW {
			return Finding{}
		}
		return poor(fmt.Sprintf("sudo nvidia-smi -i %d -pl %d", c.Index, *c.DefaultPowerLimitMW/1000), "may draw %d W of %d W by default; keepers measure its speed",
			*c.PowerLimitMW/1000, *c.DefaultPowerLimitMW/1000)
	})
}

func checkPersistence(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "the driver stays loaded", func(c host.Reading) Finding {
		if c.Persistence == nil || *c.Persistence {
			return Finding{}
		}
		return poor(fmt.Sprintf("sudo nvidia-smi -i %d -pm 1", c.Index), "has no persistence mode; the driver initialises it anew for each job")
	})
}

func checkMemoryErrors(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "no uncorrected errors, no failed repairs of memory", func(c host.Reading) Finding {
		switch {
		case c.RowRemapFailed != nil && *c.RowRemapFailed:
			return bad("sudo gantry-agent drain", "has memory that cannot be repaired any more; replace it")
		case c.RowRemapPending != nil && *c.RowRemapPending:
			return poor(fmt.Sprintf("sudo gantry-agent drain; sudo nvidia-smi -i %d -r", c.Index), "waits for a reset to repair memory")
		case c.ECCUncorrected != nil && *c.ECCUncorrected > 0:
			return poor(fmt.Sprintf("sudo gantry-agent drain; sudo nvidia-smi -i %d -r", c.Index), "had %d uncorrected errors of memory since the driver was loaded", *c.ECCUncorrected)
		}
		return Finding{}
	})
}

// checkProcesses finds what uses a GPU and is no lease.
func checkProcesses(ctx context.Context, m *Machine) Finding {
	return each(ctx, m, "nothing but leases uses the GPUs", func(c host.Reading) Finding {
		var pids []string
		for _, pid := range c.Processes {
			group, _ := os.ReadFile(m.path("/proc/" + strconv.Itoa(int(pid)) + "/cgroup"))
			if !strings.Contains(string(group), "/gantry/") {
				pids = append(pids, strconv.Itoa(int(pid)))
			}
		}
		if len(pids) == 0 {
			return Finding{}
		}
		return poor("ps -o pid,user,args -p "+strings.Join(pids, ","), "is used by processes that do not belong to a lease: %s", strings.Join(pids, ", "))
	})
}
