package config

import (
	"fmt"
	"path/filepath"

	"github.com/gantry-market/gantry/agent/guestvm"
)

// Guest is how measured guests are started: docs/operate/guest.md. Without an image none are.
type Guest struct {
	// Image is guest.efi.
	Image string `yaml:"image,omitempty"`
	// Firmware is the code of a UEFI firmware; empty for that of Debian's package ovmf.
	Firmware string `yaml:"firmware,omitempty"`
	// Accelerator is kvm, or tcg for an emulated processor; empty for kvm.
	Accelerator string `yaml:"accelerator,omitempty"`
}

// Settings are those of package guestvm; ok is false where the machine is to start no guests.
func (g Guest) Settings() (s guestvm.Settings, ok bool) {
	s = guestvm.Settings{Image: g.Image, Firmware: g.Firmware, Accelerator: g.Accelerator}
	if s.Firmware == "" {
		s.Firmware = guestvm.DefaultFirmware
	}
	if s.Accelerator == "" {
		s.Accelerator = guestvm.KVM
	}
	return s, g.Image != ""
}

// check says what cannot be used. Whether the machine can start guests is looked at when it does: one that cannot still serves other
// leases. Error: ErrConfig.
func (g Guest) check() error {
	s, ok := g.Settings()
	switch {
	case !ok && g != Guest{}:
		return fmt.Errorf("%w: guest: no image is named; build one with `make guest`, and name build/guest/guest.efi", ErrConfig)
	case s.Accelerator != guestvm.KVM && s.Accelerator != guestvm.TCG:
		return fmt.Errorf("%w: guest: the accelerator is %q; use kvm, or tcg for an emulated processor, which is slow", ErrConfig, s.Accelerator)
	}
	return nil
}

// GuestsDir is where what guests give is kept.
func (c Config) GuestsDir() string { return filepath.Join(c.DataDir, "guests") }
