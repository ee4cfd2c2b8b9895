package device

import (
	"bytes"
	"encoding/asn1"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// Places of certificates in a TPM's non-volatile memory: TCG EK credential profile 2.5, section 2.2.1.4 and 2.2.1.5.
var certificateIndices = map[tpm.EKAlgorithm][]tpm2.TPMHandle{
	tpm.EKRSA2048: {0x01c00002, 0x01c00012},
	tpm.EKP256:    {0x01c0000a, 0x01c00014},
	tpm.EKP384:    {0x01c00016},
}

const (
	// Certificates of the issuers, where the manufacturer put them: 2.2.1.5.2.
	firstChainIndex, lastChainIndex = tpm2.TPMHandle(0x01c00100), tpm2.TPMHandle(0x01c001ff)
	// Persistent keys of the endorsement hierarchy: TCG registry of reserved handles, 2.3.1.
	firstEKHandle, lastEKHandle = tpm2.TPMHandle(0x81010000), tpm2.TPMHandle(0x8101ffff)

	maxCertificate = 16 << 10
	// smallestBuffer is what every TPM can read at once: the PC Client profile's least value of TPM_PT_NV_BUFFER_MAX.
	smallestBuffer = 512
	maxHandles     = 64
)

// certificate finds the certificate of the first endorsement key that is preferred.
func (d *Device) certificate(c conn) (tpm.EK, error) {
	var looked []string
	for _, algorithm := range d.opts.Algorithms {
		for _, index := range certificateIndices[algorithm] {
			der, err := c.readCertificate(index)
			if isMissing(err) {
				looked = append(looked, fmt.Sprintf("%#x (%s)", uint32(index), algorithm))
				continue
			}
			if err != nil {
				return tpm.EK{}, fmt.Errorf("endorsement key certificate at %#x: %w", uint32(index), err)
			}
			ek, err := tpm.ParseEK(der)
			if err != nil {
				return tpm.EK{}, fmt.Errorf("at %#x: %w", uint32(index), err)
			}
			return ek, nil
		}
	}
	return tpm.EK{}, fmt.Errorf("this TPM has no endorsement key certificate; looked at %s: %w", strings.Join(looked, ", "), attest.ErrAbsent)
}

// chain reads the issuers' certificates that the TPM holds, none on most, and adds those of the options.
func (d *Device) chain(c conn) ([]byte, error) {
	handles, err := c.handles(firstChainIndex, lastChainIndex)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, index := range handles {
		data, err := c.readIndex(index)
		if err != nil {
			return nil, fmt.Errorf("certificate at %#x: %w", uint32(index), err)
		}
		all = append(all, data...)
	}
	// A chain may be cut into indices at any byte, and its end may be padded.
	var certs []byte
	for len(all) > 0 {
		var raw asn1.RawValue
		rest, err := asn1.Unmarshal(all, &raw)
		if err != nil {
			break
		}
		certs = append(certs, raw.FullBytes...)
		all = rest
	}
	return append(certs, d.opts.Chain...), nil
}

// readCertificate reads a DER certificate and drops the padding that follows it in some TPMs.
func (c conn) readCertificate(index tpm2.TPMHandle) ([]byte, error) {
	data, err := c.readIndex(index)
	if err != nil {
		return nil, err
	}
	var raw asn1.RawValue
	if _, err := asn1.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("not DER: %w", err)
	}
	return raw.FullBytes, nil
}

func (c conn) readIndex(index tpm2.TPMHandle) ([]byte, error) {
	public, err := tpm2.NVReadPublic{NVIndex: index}.Execute(c)
	if err != nil {
		return nil, err
	}
	contents, err := public.NVPublic.Contents()
	if err != nil {
		return nil, err
	}
	size := int(contents.DataSize)
	if size > maxCertificate {
		return nil, fmt.Errorf("%d bytes, at most %d are read", size, maxCertificate)
	}
	named := tpm2.NamedHandle{Handle: index, Name: public.NVName}
	data := make([]byte, 0, size)
	for len(data) < size {
		part, err := tpm2.NVRead{
			AuthHandle: tpm2.AuthHandle{Handle: index, Name: public.NVName, Auth: tpm2.PasswordAuth(nil)}, NVIndex: named,
			Size: uint16(min(size-len(data), smallestBuffer)), Offset: uint16(len(data)),
		}.Execute(c)
		if err != nil {
			return nil, err
		}
		if len(part.Data.Buffer) == 0 {
			return nil, errors.New("the TPM returned no data")
		}
		data = append(data, part.Data.Buffer...)
	}
	return data, nil
}

// handles lists what exists in a range.
func (c conn) handles(first, last tpm2.TPMHandle) ([]tpm2.TPMHandle, error) {
	reply, err := tpm2.GetCapability{Capability: tpm2.TPMCapHandles, Property: uint32(first), PropertyCount: maxHandles}.Execute(c)
	if err != nil {
		return nil, err
	}
	all, err := reply.CapabilityData.Data.Handles()
	if err != nil {
		return nil, err
	}
	var found []tpm2.TPMHandle
	for _, h := range all.Handle {
		if h >= first && h <= last {
			found = append(found, h)
		}
	}
	return found, nil
}

// key is a loaded endorsement key.
type key struct {
	handle    tpm2.TPMHandle
	name      tpm2.TPM2BName
	public    tpm2.TPMTPublic
	transient bool
}

// endorsementKey finds the certificate's key among the persistent ones, or makes it from the templates: that takes some
// TPMs ten seconds for RSA.
func (c conn) endorsementKey(ek tpm.EK) (key, error) {
	persistent, err := c.handles(firstEKHandle, lastEKHandle)
	if err != nil {
		return key{}, err
	}
	for _, handle := range persistent {
		reply, err := tpm2.ReadPublic{ObjectHandle: handle}.Execute(c)
		if err != nil {
			return key{}, fmt.Errorf("key %#x: %w", uint32(handle), err)
		}
		public, err := reply.OutPublic.Contents()
		if err != nil {
			return key{}, fmt.Errorf("key %#x: %w", uint32(handle), err)
		}
		if ek.Is(public) {
			return key{handle: handle, name: reply.Name, public: *public}, nil
		}
	}
	for _, template := range ekTemplates(ek.Algorithm) {
		reply, err := tpm2.CreatePrimary{PrimaryHandle: tpm2.TPMRHEndorsement, InPublic: tpm2.New2B(template)}.Execute(c)
		if err != nil {
			return key{}, fmt.Errorf("make the endorsement key: %w", err)
		}
		public, err := reply.OutPublic.Contents()
		if err == nil && ek.Is(public) {
			return key{handle: reply.ObjectHandle, name: reply.Name, public: *public, transient: true}, nil
		}
		c.flush(reply.ObjectHandle, &err)
		if err != nil {
			return key{}, err
		}
	}
	return key{}, errors.New("no key of this TPM is the one in its endorsement key certificate")
}

// ekTemplates are those of the TCG EK credential profile that a key of the algorithm may come from.
func ekTemplates(algorithm tpm.EKAlgorithm) []tpm2.TPMTPublic {
	switch algorithm {
	case tpm.EKRSA2048:
		return []tpm2.TPMTPublic{tpm2.RSAEKTemplate}
	case tpm.EKP256:
		return []tpm2.TPMTPublic{tpm2.ECCEKTemplate}
	case tpm.EKP384:
		return []tpm2.TPMTPublic{tpm.P384EKTemplate()}
	}
	return nil
}

// auth is how the key's use is authorised: with an empty password where it allows that, else with the policy that the
// endorsement hierarchy's password, which is empty, opens.
func (k key) auth() (tpm2.Session, error) {
	if k.public.ObjectAttributes.UserWithAuth {
		return tpm2.PasswordAuth(nil), nil
	}
	if !bytes.Equal(k.public.AuthPolicy.Buffer, tpm2.RSAEKTemplate.AuthPolicy.Buffer) {
		return nil, errors.New("the endorsement key has a policy of its own")
	}
	return tpm2.Policy(tpm2.TPMAlgSHA256, 16, func(t transport.TPM, session tpm2.TPMISHPolicy, nonce tpm2.TPM2BNonce) error {
		_, err := tpm2.PolicySecret{
			AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHEndorsement, Auth: tpm2.PasswordAuth(nil)}, PolicySession: session, NonceTPM: nonce,
		}.Execute(t)
		return err
	}), nil
}
