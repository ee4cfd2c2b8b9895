package doctor

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/agent/runtime"
)

const asRoot = "sudo gantry-agent doctor"

func checkCgroups(_ context.Context, m *Machine) Finding {
	err := runtime.CheckCgroups(m.Root)
	if errors.Is(err, runtime.ErrCgroupsOfContainer) {
		return bad(asContainer, "jobs cannot be limited: %v", err)
	}
	if err != nil {
		return bad(`sudo sed -i 's/^GRUB_CMDLINE_LINUX="/&systemd.unified_cgroup_hierarchy=1 cgroup_enable=memory /' /etc/default/grub && sudo update-grub && sudo reboot`,
			"jobs cannot be limited: %v", err)
	}
	return good("cgroup v2 with cpu, memory and pids")
}

func checkNetwork(_ context.Context, m *Machine) Finding {
	if m.Config.Network.Off {
		return none("the settings give containers no network")
	}
	if m.UID != 0 {
		return bad(asRoot, "containers have no network: the agent does not run as root")
	}
	if err := m.Network(); err != nil {
		return automatic(bad("sudo modprobe -a veth nf_tables nft_ct nft_fib_inet nft_reject_inet nft_masq", "containers have no network: %v", err))
	}
	return good("namespaces, virtual interfaces and nftables work")
}

func checkVolumes(_ context.Context, m *Machine) Finding {
	if m.UID != 0 {
		return poor(asRoot, "orders with encrypted volumes go to other machines: the agent does not run as root")
	}
	if err := m.Volumes(); err != nil {
		return automatic(poor("sudo apt-get install -y e2fsprogs && sudo modprobe -a loop ext4", "orders with encrypted volumes go to other machines: %v", err))
	}
	return good("an encrypted volume was made in memory and dropped")
}
