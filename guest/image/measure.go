package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
)

// Registers of a TPM that the image decides.
const (
	pcrBoot       = 4  // what the firmware starts
	pcrKernel     = 11 // sections of the image
	pcrConfig     = 12 // command lines and credentials that are added at the boot
	pcrExtensions = 13 // extensions that are added at the boot
)

// What the firmware measures in addition to images (TCG PC Client Platform Firmware Profile, section 2.3.4.5).
const callingEFI = "Calling EFI Application from Boot Option"

var separator = []byte{0, 0, 0, 0}

// measured are the sections that systemd's stub measures, in its order.
var measured = []string{".linux", ".osrel", ".cmdline", ".initrd", ".ucode", ".splash", ".dtb", ".uname", ".sbat", ".pcrpkey", ".profile", ".dtbauto", ".hwids"}

// register is a PCR of the bank of SHA-256.
type register [32]byte

// extend does what a TPM does with a digest.
func (r *register) extend(digest [32]byte) {
	*r = sha256.Sum256(append(slices.Clone(r[:]), digest[:]...))
}

// measure is extend with the digest of data.
func (r *register) measure(data []byte) { r.extend(sha256.Sum256(data)) }

// Expected is what a machine shows that has booted an image.
type Expected struct {
	// SHA256 is the image's, Size its bytes.
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	// Kernel is its version, CommandLine what it is started with.
	Kernel      string `json:"kernel"`
	CommandLine string `json:"command_line"`
	// Policy is the part of a policy document that accepts this image alone.
	Policy Fragment `json:"policy"`
}

// Fragment is a part of a policy document (package policy).
type Fragment struct {
	Require map[string][]string `json:"require"`
	TPM     FragmentTPM         `json:"tpm"`
}

// FragmentTPM is the part about TPMs.
type FragmentTPM struct {
	PCRs []policy.PCR `json:"pcrs"`
}

// Apply is the policy that accepts what p accepts, of this image alone.
func (f Fragment) Apply(p policy.Policy) policy.Policy {
	require := map[string][]string{}
	for kind, names := range p.Require {
		require[kind] = slices.Clone(names)
	}
	for kind, names := range f.Require {
		require[kind] = append(require[kind], names...)
	}
	p.Require, p.TPM.PCRs = require, f.TPM.PCRs
	return p
}

// PCRs are the values of the registers that an image decides.
func PCRs(image []byte) (tpm.PCRs, error) {
	x, err := parsePE(image)
	if err != nil {
		return nil, fmt.Errorf("measure the image: %w", err)
	}
	kernel, ok := x.content(".linux")
	if !ok {
		return nil, fmt.Errorf("measure the image: it has no kernel: %w", errPE)
	}
	inner, err := parsePE(kernel)
	if err != nil {
		return nil, fmt.Errorf("measure the kernel: %w", err)
	}
	outside, err := x.authenticode()
	if err != nil {
		return nil, fmt.Errorf("measure the image: %w", err)
	}
	inside, err := inner.authenticode()
	if err != nil {
		return nil, fmt.Errorf("measure the kernel: %w", err)
	}
	var boot, sections register
	boot.extend(outside)
	boot.measure([]byte(callingEFI))
	boot.measure(separator)
	boot.extend(inside)
	for _, name := range measured {
		if data, ok := x.content(name); ok {
			sections.measure(append([]byte(name), 0))
			sections.measure(data)
		}
	}
	return tpm.PCRs{pcrBoot: boot, pcrKernel: sections, pcrConfig: {}, pcrExtensions: {}}, nil
}

func expected(image []byte, in *Inputs, commandLine string) (Expected, error) {
	values, err := PCRs(image)
	if err != nil {
		return Expected{}, err
	}
	sum := sha256.Sum256(image)
	e := Expected{SHA256: hex.EncodeToString(sum[:]), Size: len(image), Kernel: in.Release, CommandLine: commandLine}
	e.Policy.Require = map[string][]string{"tpm": append(policy.StandardRequire()["tpm"], tpm.CheckPCRPolicy)}
	for _, index := range []int{pcrBoot, pcrKernel, pcrConfig, pcrExtensions} {
		value := values[index]
		e.Policy.TPM.PCRs = append(e.Policy.TPM.PCRs, policy.PCR{Index: index, Values: []string{hex.EncodeToString(value[:])}})
	}
	return e, nil
}
