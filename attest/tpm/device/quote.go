package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest/tpm"
)

// maxTries bounds how often values are read anew because a PCR changed between reading and quoting.
const maxTries = 8

// Request returns what a keeper needs to enrol this TPM.
func (d *Device) Request(ctx context.Context) (tpm.Request, error) {
	var out tpm.Request
	err := d.with(ctx, "read keys", func(c conn) error {
		ek, err := d.certificate(c)
		if err != nil {
			return err
		}
		out.EK = ek.Cert.Raw
		if out.Chain, err = d.chain(c); err != nil {
			return err
		}
		return c.withAK(func(_ tpm2.NamedHandle, ak tpm.AK) error {
			out.AK = ak.Raw
			return nil
		})
	})
	return out, err
}

// AK returns the attestation key.
func (d *Device) AK(ctx context.Context) (tpm.AK, error) {
	var out tpm.AK
	err := d.with(ctx, "make the attestation key", func(c conn) error {
		return c.withAK(func(_ tpm2.NamedHandle, ak tpm.AK) error {
			out = ak
			return nil
		})
	})
	return out, err
}

// Activate opens a credential that a keeper sealed to this TPM and its attestation key, and returns the secret.
func (d *Device) Activate(ctx context.Context, credential tpm.Credential) ([]byte, error) {
	var secret []byte
	err := d.with(ctx, "activate credential", func(c conn) (err error) {
		ek, err := d.certificate(c)
		if err != nil {
			return err
		}
		k, err := c.endorsementKey(ek)
		if err != nil {
			return err
		}
		if k.transient {
			defer c.flush(k.handle, &err)
		}
		auth, err := k.auth()
		if err != nil {
			return err
		}
		return c.withAK(func(ak tpm2.NamedHandle, _ tpm.AK) error {
			reply, err := tpm2.ActivateCredential{
				ActivateHandle: tpm2.AuthHandle{Handle: ak.Handle, Name: ak.Name, Auth: tpm2.PasswordAuth(nil)},
				KeyHandle:      tpm2.AuthHandle{Handle: k.handle, Name: k.name, Auth: auth},
				CredentialBlob: tpm2.TPM2BIDObject{Buffer: credential.IDObject},
				Secret:         tpm2.TPM2BEncryptedSecret{Buffer: credential.EncryptedSeed},
			}.Execute(c)
			if err != nil {
				return err
			}
			secret = reply.CertInfo.Buffer
			return nil
		})
	})
	return secret, err
}

// Quoted is a quote with the values that it is over.
type Quoted struct {
	AK, EK, Chain, Quote, Signature []byte
	PCRs                            tpm.PCRs
}

// Quote has the TPM sign its PCRs with qualifying data.
func (d *Device) Quote(ctx context.Context, qualifying [32]byte) (Quoted, error) {
	var out Quoted
	err := d.with(ctx, "quote", func(c conn) error {
		ek, err := d.certificate(c)
		if err != nil {
			return err
		}
		out.EK = ek.Cert.Raw
		if out.Chain, err = d.chain(c); err != nil {
			return err
		}
		return c.withAK(func(handle tpm2.NamedHandle, ak tpm.AK) error {
			out.AK = ak.Raw
			for range maxTries {
				if out.PCRs, err = c.readPCRs(d.opts.Selection); err != nil {
					return err
				}
				digest, err := c.quote(handle, d.opts.Selection, qualifying, &out)
				if err != nil {
					return err
				}
				if digest == out.PCRs.Digest() {
					return nil
				}
			}
			return errors.New("PCRs change faster than they can be quoted")
		})
	})
	return out, err
}

// withAK makes the attestation key for as long as do runs.
func (c conn) withAK(do func(tpm2.NamedHandle, tpm.AK) error) (err error) {
	reply, err := tpm2.CreatePrimary{PrimaryHandle: tpm2.TPMRHEndorsement, InPublic: tpm2.New2B(tpm.AKTemplate())}.Execute(c)
	if err != nil {
		return fmt.Errorf("make the attestation key: %w", err)
	}
	defer c.flush(reply.ObjectHandle, &err)
	ak, err := tpm.ParseAK(reply.OutPublic.Bytes())
	if err != nil {
		return err
	}
	return do(tpm2.NamedHandle{Handle: reply.ObjectHandle, Name: reply.Name}, ak)
}

func selection(s tpm.Selection) tpm2.TPMLPCRSelection {
	return tpm2.TPMLPCRSelection{PCRSelections: []tpm2.TPMSPCRSelection{{
		Hash: tpm2.TPMAlgSHA256, PCRSelect: s.Bitmap(),
	}}}
}

func (c conn) quote(ak tpm2.NamedHandle, s tpm.Selection, qualifying [32]byte, out *Quoted) ([32]byte, error) {
	reply, err := tpm2.Quote{
		SignHandle:     tpm2.AuthHandle{Handle: ak.Handle, Name: ak.Name, Auth: tpm2.PasswordAuth(nil)},
		QualifyingData: tpm2.TPM2BData{Buffer: qualifying[:]},
		InScheme:       tpm2.TPMTSigScheme{Scheme: tpm2.TPMAlgNull},
		PCRSelect:      selection(s),
	}.Execute(c)
	if err != nil {
		return [32]byte{}, err
	}
	out.Quote, out.Signature = reply.Quoted.Bytes(), tpm2.Marshal(reply.Signature)
	q, err := tpm.ParseQuote(out.Quote)
	if err != nil {
		return [32]byte{}, err
	}
	return q.Digest, nil
}

// readPCRs reads values of the SHA-256 bank; a TPM returns at most eight at a time.
func (c conn) readPCRs(want tpm.Selection) (tpm.PCRs, error) {
	values := tpm.PCRs{}
	for rest := want; rest != 0; {
		reply, err := tpm2.PCRRead{PCRSelectionIn: selection(rest)}.Execute(c)
		if err != nil {
			return nil, fmt.Errorf("read PCRs: %w", err)
		}
		var got tpm.Selection
		for _, s := range reply.PCRSelectionOut.PCRSelections {
			for i, b := range s.PCRSelect {
				if s.Hash == tpm2.TPMAlgSHA256 && i < 3 {
					got |= tpm.Selection(b) << (8 * i)
				}
			}
		}
		digests := reply.PCRValues.Digests
		pcrs := (got & rest).List()
		if len(pcrs) == 0 || len(digests) != len(pcrs) {
			return nil, fmt.Errorf("read PCRs: the TPM has no SHA-256 values of %s", rest)
		}
		for i, pcr := range pcrs {
			if len(digests[i].Buffer) != 32 {
				return nil, fmt.Errorf("read PCRs: value of PCR %d has %d bytes", pcr, len(digests[i].Buffer))
			}
			values[pcr] = [32]byte(digests[i].Buffer)
		}
		rest &^= got
	}
	return values, nil
}
