package tpm

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"fmt"
	"io"

	"github.com/google/go-tpm/tpm2"
)

// Credential is a secret that only one TPM can open, and only if the attestation key that it names lives in that TPM.
type Credential struct {
	// IDObject is the TPM2B_ID_OBJECT's content: the integrity value and the encrypted secret.
	IDObject []byte
	// EncryptedSeed is the TPM2B_ENCRYPTED_SECRET's content: the seed, encrypted to the endorsement key.
	EncryptedSeed []byte
}

// MakeCredential seals a secret to an endorsement key and the name of an attestation key (part 1, section 24). The key
// is the one in the certificate: a machine that can open the secret holds the TPM that the manufacturer certified.
func MakeCredential(random io.Reader, ek EK, ak Name, secret []byte) (Credential, error) {
	public, err := ek.public()
	if err != nil {
		return Credential{}, err
	}
	key, err := tpm2.ImportEncapsulationKey(public)
	if err != nil {
		return Credential{}, fmt.Errorf("endorsement key: %w", err)
	}
	object, seed, err := tpm2.CreateCredential(random, key, ak[:], secret)
	if err != nil {
		return Credential{}, fmt.Errorf("make credential: %w", err)
	}
	return Credential{IDObject: object, EncryptedSeed: seed}, nil
}

// public is as much of the key's public area as sealing needs: its name algorithm and symmetric cipher follow from the
// kind of key (TCG EK credential profile 2.5, B.3 and B.4).
func (ek EK) public() (*tpm2.TPMTPublic, error) {
	switch k := ek.Key.(type) {
	case *rsa.PublicKey:
		p := tpm2.RSAEKTemplate
		p.Unique = tpm2.NewTPMUPublicID(tpm2.TPMAlgRSA, &tpm2.TPM2BPublicKeyRSA{Buffer: k.N.FillBytes(make([]byte, 256))})
		return &p, nil
	case *ecdsa.PublicKey:
		p := tpm2.ECCEKTemplate
		if ek.Algorithm == EKP384 {
			p = P384EKTemplate()
		}
		point, err := k.Bytes()
		if err != nil {
			return nil, fmt.Errorf("endorsement key: %w", err)
		}
		half := (len(point) - 1) / 2
		p.Unique = tpm2.NewTPMUPublicID(tpm2.TPMAlgECC, &tpm2.TPMSECCPoint{
			X: tpm2.TPM2BECCParameter{Buffer: point[1 : 1+half]}, Y: tpm2.TPM2BECCParameter{Buffer: point[1+half:]},
		})
		return &p, nil
	}
	return nil, fmt.Errorf("endorsement key of type %T is not supported", ek.Key)
}

// P384EKTemplate is template H-3 of the TCG EK credential profile 2.5, B.4.5: an endorsement key on P-384.
func P384EKTemplate() tpm2.TPMTPublic {
	return tpm2.TPMTPublic{
		Type:    tpm2.TPMAlgECC,
		NameAlg: tpm2.TPMAlgSHA384,
		ObjectAttributes: tpm2.TPMAObject{
			FixedTPM: true, FixedParent: true, SensitiveDataOrigin: true, UserWithAuth: true, AdminWithPolicy: true, Restricted: true,
			Decrypt: true,
		},
		AuthPolicy: tpm2.TPM2BDigest{Buffer: []byte{
			// PolicyB for SHA-384: PolicyOR of PolicySecret(endorsement) and PolicyAuthorizeNV, B.6.5.
			0xb2, 0x6e, 0x7d, 0x28, 0xd1, 0x1a, 0x50, 0xbc, 0x53, 0xd8, 0x82, 0xbc, 0xf5, 0xfd, 0x3a, 0x1a,
			0x07, 0x41, 0x48, 0xbb, 0x35, 0xd3, 0xb4, 0xe4, 0xcb, 0x1c, 0x0a, 0xd9, 0xbd, 0xe4, 0x19, 0xca,
			0xcb, 0x47, 0xba, 0x09, 0x69, 0x96, 0x46, 0x15, 0x0f, 0x9f, 0xc0, 0x00, 0xf3, 0xf8, 0x0e, 0x12,
		}},
		Parameters: tpm2.NewTPMUPublicParms(tpm2.TPMAlgECC, &tpm2.TPMSECCParms{
			Symmetric: tpm2.TPMTSymDefObject{
				Algorithm: tpm2.TPMAlgAES,
				KeyBits:   tpm2.NewTPMUSymKeyBits(tpm2.TPMAlgAES, tpm2.TPMKeyBits(256)),
				Mode:      tpm2.NewTPMUSymMode(tpm2.TPMAlgAES, tpm2.TPMAlgCFB),
			},
			CurveID: tpm2.TPMECCNistP384,
		}),
		Unique: tpm2.NewTPMUPublicID(tpm2.TPMAlgECC, &tpm2.TPMSECCPoint{}),
	}
}
