package doctor

import (
	"context"

	"github.com/gantry-market/gantry/agent/guestvm"
)

// guestPackages has what is started, but for the image.
const guestPackages = "sudo apt-get install -y --no-install-recommends qemu-system-x86 ovmf swtpm swtpm-tools gnutls-bin"

func checkGuest(_ context.Context, m *Machine) Finding {
	s, wanted := m.Config.Guest.Settings()
	if !wanted {
		return none("the settings name no image of a measured guest")
	}
	if err := m.Guest(s); err != nil {
		return poor(guestPackages, "orders with --guest are declined: %v", err)
	}
	if s.Accelerator == guestvm.TCG {
		return poor("gantry-agent run --guest-accelerator kvm", "measured guests run on an emulated processor (accelerator tcg), which is slow and for trials alone")
	}
	return good("measured guests start with KVM; their TPM is in software, and proves nothing about this machine's owner")
}
