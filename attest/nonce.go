package attest

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"sort"
)

// Challenge is what a nonce is made of. Everything in it is known to both sides and to auditors afterwards.
type Challenge struct {
	// GenesisHash of the cluster and Program keep evidence of one market from being used in another.
	GenesisHash, Program [32]byte
	// ID is the challenge's own: random, or derived from a keeper's signature.
	ID [32]byte
	// Node is the account of the node that must answer, NodeKey its ed25519 key. A machine that two owners register under
	// one key is asked as each of them.
	Node, NodeKey [32]byte
	// SlotHash is a finalised slot's hash: it was not known before.
	SlotHash [32]byte
	// Expiry is the unix second after which an answer is worth nothing.
	Expiry int64
}

// Nonce is sha256("gantry-evidence-2" ‖ genesis ‖ program ‖ id ‖ node ‖ node key ‖ slot hash ‖ expiry i64le).
func (c Challenge) Nonce() [32]byte {
	h := sha256.New()
	h.Write([]byte("gantry-evidence-2"))
	for _, part := range [][32]byte{c.GenesisHash, c.Program, c.ID, c.Node, c.NodeKey, c.SlotHash} {
		h.Write(part[:])
	}
	var t [8]byte
	binary.LittleEndian.PutUint64(t[:], uint64(c.Expiry))
	h.Write(t[:])
	return [32]byte(h.Sum(nil))
}

// Binding is what evidence that answers the challenge carries. The side that knows Keys and Others adds them.
func (c Challenge) Binding() Binding {
	return Binding{Nonce: c.Nonce()}
}

// Binding is what evidence of one challenge must carry under its signatures.
type Binding struct {
	// Nonce of the challenge.
	Nonce [32]byte
	// Claims is the digest of all evidence but that which vouches for it: the guest's key, a TEE's report and a TPM's
	// quote.
	Claims [32]byte
	// Keys are those that a confidential VM vouches for beside the claims: the guest's, and the TPM's attestation key,
	// whose quote comes after the TEE's report. Their order does not matter.
	Keys [][32]byte
	// Others is the digest of all other evidence in the bundle, which the TPM quote signs.
	Others [32]byte
}

// GPU is the nonce that a GPU signs: sha256(nonce ‖ "gpu").
func (b Binding) GPU() [32]byte {
	return sha256.Sum256(append(append([]byte(nil), b.Nonce[:]...), "gpu"...))
}

// ReportData is the 64 bytes that an SEV-SNP report or TDX quote carries: sha512("gantry-tee-2" ‖ nonce ‖ digest of the
// claims ‖ keys, sorted). So nothing in a bundle can be exchanged once the guest has answered.
func (b Binding) ReportData() [64]byte {
	keys := append([][32]byte(nil), b.Keys...)
	sort.Slice(keys, func(i, j int) bool { return string(keys[i][:]) < string(keys[j][:]) })
	h := sha512.New()
	h.Write([]byte("gantry-tee-2"))
	h.Write(b.Nonce[:])
	h.Write(b.Claims[:])
	for _, k := range keys {
		h.Write(k[:])
	}
	return [64]byte(h.Sum(nil))
}

// Qualifying is the TPM quote's qualifying data: sha256("gantry-tpm-1" ‖ nonce ‖ digest of all other evidence).
func (b Binding) Qualifying() [32]byte {
	return sha256.Sum256(append(append([]byte("gantry-tpm-1"), b.Nonce[:]...), b.Others[:]...))
}
