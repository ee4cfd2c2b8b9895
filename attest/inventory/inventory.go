package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gantry-market/gantry/attest"
)

// ItemInventory is the name of the evidence's only item.
const ItemInventory = "inventory.json"

// Version of the format.
const Version = 1

// Limits.
const (
	// MaxSize of an encoding, bytes.
	MaxSize = 64 << 10
	// MaxGPUs of a machine: as many as can be registered for a node.
	MaxGPUs = 8

	maxText = 256
	minUUID = 16
)

// Inventory is what a machine claims to be.
type Inventory struct {
	Version int `json:"version"`
	// Simulated is true when the GPUs are not real: such a machine has no tier.
	Simulated bool   `json:"simulated"`
	Kernel    string `json:"kernel,omitempty"`
	Platform  string `json:"platform,omitempty"`
	// Virtualization is empty on bare metal, else the hypervisor's name.
	Virtualization string `json:"virtualization,omitempty"`
	CPU            string `json:"cpu,omitempty"`
	Cores          int    `json:"cores"`
	RAMMiB         uint64 `json:"ram_mib"`
	// Driver and NVML are versions, Confidential is the driver's name of its confidential computing mode.
	Driver       string `json:"driver,omitempty"`
	NVML         string `json:"nvml,omitempty"`
	Confidential string `json:"confidential,omitempty"`
	GPUs         []GPU  `json:"gpus"`
}

// GPU is one device, in the order of its index.
type GPU struct {
	Index   int    `json:"index"`
	Model   string `json:"model"`
	UUID    string `json:"uuid"`
	VRAMMiB uint64 `json:"vram_mib"`
	PCI     string `json:"pci,omitempty"`
	MIG     bool   `json:"mig,omitempty"`
}

// Split reports whether the device is split in instances, or is one: a market rents whole GPUs.
func (g GPU) Split() bool { return g.MIG || strings.HasPrefix(g.UUID, "MIG-") }

// Encode returns the canonical encoding: JSON without insignificant space, fields in the order of the type, empty
// optional ones left out. Error: attest.ErrMalformed.
func (i Inventory) Encode() ([]byte, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	return i.marshal()
}

func (i Inventory) marshal() ([]byte, error) {
	if i.GPUs == nil {
		i.GPUs = []GPU{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(i); err != nil {
		return nil, fmt.Errorf("inventory: %w: %w", err, attest.ErrMalformed)
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(out) > MaxSize {
		return nil, fmt.Errorf("inventory of %d bytes, at most %d: %w", len(out), MaxSize, attest.ErrMalformed)
	}
	return out, nil
}

// Parse reads one canonical encoding and nothing else. Error: attest.ErrMalformed.
func Parse(data []byte) (Inventory, error) {
	var i Inventory
	if len(data) > MaxSize {
		return i, fmt.Errorf("inventory of %d bytes, at most %d: %w", len(data), MaxSize, attest.ErrMalformed)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&i); err != nil {
		return Inventory{}, fmt.Errorf("inventory: %w: %w", err, attest.ErrMalformed)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Inventory{}, fmt.Errorf("bytes after the inventory: %w", attest.ErrMalformed)
	}
	if err := i.check(); err != nil {
		return Inventory{}, err
	}
	again, err := i.marshal()
	if err != nil {
		return Inventory{}, err
	}
	if !bytes.Equal(again, data) {
		return Inventory{}, fmt.Errorf("inventory is not in its canonical encoding: %w", attest.ErrMalformed)
	}
	return i, nil
}

func (i Inventory) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("inventory: %s: %w", fmt.Sprintf(format, args...), attest.ErrMalformed)
	}
	if i.Version != Version {
		return bad("version %d, this reads %d", i.Version, Version)
	}
	if i.Cores < 0 {
		return bad("%d cores", i.Cores)
	}
	for _, s := range []string{i.Kernel, i.Platform, i.Virtualization, i.CPU, i.Driver, i.NVML, i.Confidential} {
		if !validText(s) {
			return bad("text %.40q", s)
		}
	}
	if len(i.GPUs) > MaxGPUs {
		return bad("%d GPUs, at most %d", len(i.GPUs), MaxGPUs)
	}
	seen := map[string]bool{}
	for k, g := range i.GPUs {
		if k > 0 && g.Index <= i.GPUs[k-1].Index || g.Index < 0 {
			return bad("GPU %d has index %d", k, g.Index)
		}
		if !validText(g.Model) || !validText(g.PCI) || !validText(g.UUID) || len(g.UUID) < minUUID {
			return bad("GPU %d: model %.40q, UUID %.40q", k, g.Model, g.UUID)
		}
		if seen[g.UUID] {
			return bad("two GPUs have the UUID %s", g.UUID)
		}
		seen[g.UUID] = true
	}
	return nil
}

// validText is short, printable UTF-8: it is shown to people.
func validText(s string) bool {
	if len(s) > maxText || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// Evidence wraps the inventory. Error: attest.ErrMalformed.
func (i Inventory) Evidence() (attest.Evidence, error) {
	data, err := i.Encode()
	if err != nil {
		return attest.Evidence{}, err
	}
	return attest.Evidence{Kind: attest.KindInventory, Items: []attest.Item{{Name: ItemInventory, Data: data}}}, nil
}

// FromEvidence unwraps it. Error: attest.ErrMalformed.
func FromEvidence(e attest.Evidence) (Inventory, error) {
	if e.Kind != attest.KindInventory || e.Instance != 0 || len(e.Items) != 1 || e.Items[0].Name != ItemInventory {
		return Inventory{}, fmt.Errorf("%s %d is not one %s: %w", e.Kind, e.Instance, ItemInventory, attest.ErrMalformed)
	}
	return Parse(e.Items[0].Data)
}
