package messages

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/gantry-market/gantry/attest"
)

// CheckKind says what a challenge or a statement is about. The numbers are those of the signed statement.
type CheckKind uint8

const (
	CheckLiveness  CheckKind = 1
	CheckInventory CheckKind = 2
	CheckWork      CheckKind = 3
	CheckEvidence  CheckKind = 4
	CheckHealth    CheckKind = 5
	CheckOutput    CheckKind = 6
	CheckNetwork   CheckKind = 7
)

// ChallengeRequest is one question of a keeper to a node.
type ChallengeRequest struct {
	Version uint8     `cbor:"1,keyasint"`
	Kind    CheckKind `cbor:"2,keyasint"`
	// Node is the node account's address.
	Node   [32]byte `cbor:"3,keyasint"`
	Period uint64   `cbor:"4,keyasint"`
	// Nonce is fresh randomness that the answer repeats.
	Nonce [32]byte `cbor:"5,keyasint"`
	// Evidence is what a bundle must answer.
	Evidence *EvidenceChallenge `cbor:"7,keyasint,omitempty"`
	// TPM is a step of enrolling the node's TPM, in place of Evidence.
	TPM *TPMStep `cbor:"8,keyasint,omitempty"`
}

// EvidenceChallenge, with the node's account and key, is the challenge of an evidence bundle: see package attest.
type EvidenceChallenge struct {
	GenesisHash [32]byte `cbor:"1,keyasint"`
	Program     [32]byte `cbor:"2,keyasint"`
	ID          [32]byte `cbor:"3,keyasint"`
	SlotHash    [32]byte `cbor:"4,keyasint"`
	Expiry      int64    `cbor:"5,keyasint"`
	// TPMStatement is the keeper's signed statement that the node's attestation key lives in its TPM, if the keeper has
	// seen it: the node puts it into its evidence for those who have not. It is no part of the challenge.
	TPMStatement []byte `cbor:"6,keyasint,omitempty" max:"4096"`
}

// TPMStep asks for the keys of the node's TPM, or, with a credential, for the secret that only the TPM can open: see
// package attest/tpm.
type TPMStep struct {
	IDObject      []byte `cbor:"1,keyasint,omitempty" max:"4096"`
	EncryptedSeed []byte `cbor:"2,keyasint,omitempty" max:"4096"`
}

// TPMAnswer answers a TPMStep: with the keys, or with the secret.
type TPMAnswer struct {
	AK     []byte `cbor:"1,keyasint,omitempty" max:"8192"`
	EK     []byte `cbor:"2,keyasint,omitempty" max:"8192"`
	Chain  []byte `cbor:"3,keyasint,omitempty" max:"65536"`
	Secret []byte `cbor:"4,keyasint,omitempty" max:"1024"`
}

// Of is the challenge for a node's account and key.
func (c EvidenceChallenge) Of(node, nodeKey [32]byte) attest.Challenge {
	return attest.Challenge{
		GenesisHash: c.GenesisHash, Program: c.Program, ID: c.ID, Node: node, NodeKey: nodeKey, SlotHash: c.SlotHash, Expiry: c.Expiry,
	}
}

// ChallengeResponse answers with the part that was asked for.
type ChallengeResponse struct {
	Version   uint8      `cbor:"1,keyasint"`
	Nonce     [32]byte   `cbor:"2,keyasint"`
	Liveness  *Liveness  `cbor:"3,keyasint,omitempty"`
	Inventory *Inventory `cbor:"4,keyasint,omitempty"`
	// Refused says why there is no answer, such as evidence asked for while a lease runs.
	Refused string `cbor:"6,keyasint,omitempty" max:"1024"`
	// Evidence is an encoded bundle: see package attest/bundle.
	Evidence []byte     `cbor:"7,keyasint,omitempty" max:"4194304"`
	TPM      *TPMAnswer `cbor:"8,keyasint,omitempty"`
	// Guest is by the key of the process that answers with an inventory, over Nonce and Vouched.
	Guest *GuestSignature `cbor:"9,keyasint,omitempty"`
}

// GuestSignature is by the key that the node's evidence shows to be of its confidential machine: see package
// attest/guest. So what such a node answers between two bundles is seen to come from there.
type GuestSignature struct {
	Key       [32]byte `cbor:"1,keyasint"`
	Signature [64]byte `cbor:"2,keyasint"`
}

// Vouched is the digest of what the guest signs of an answer: SHA-256 over what says which GPUs are there.
func (r ChallengeResponse) Vouched() [32]byte {
	var b []byte
	if i := r.Inventory; i != nil {
		b = append(b, byte(CheckInventory), byte(len(i.GPUs)))
		for _, g := range i.GPUs {
			b = append(b, g.Identity[:]...)
			b = binary.LittleEndian.AppendUint64(b, g.VRAMMiB)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(g.Name)))
			b = append(b, g.Name...)
		}
	}
	return sha256.Sum256(b)
}

// LeaseLive is what a node says in ChallengeResponse.Refused as long as it knows of a lease: keepers look at the chain
// whether there is, or has just been, one.
const LeaseLive = "a lease is live: the GPUs are the customer's"

// Liveness is the agent's view of itself and its leases.
type Liveness struct {
	UnixTime  int64         `cbor:"1,keyasint"`
	UpSeconds uint64        `cbor:"2,keyasint"`
	Leases    []LeaseStatus `cbor:"3,keyasint" max:"256"`
}

// LeaseState is where the agent is with a lease.
type LeaseState uint8

const (
	// LeaseWaiting: started on chain or about to be, the customer's job has not arrived.
	LeaseWaiting LeaseState = 1
	LeaseRunning LeaseState = 2
	// LeaseExited: the job ended by itself.
	LeaseExited  LeaseState = 3
	LeaseStopped LeaseState = 4
	// LeaseBroken: the job could not be started.
	LeaseBroken LeaseState = 5
)

// LeaseStatus is one lease on a node.
type LeaseStatus struct {
	Lease [32]byte   `cbor:"1,keyasint"`
	State LeaseState `cbor:"2,keyasint"`
	// ExitCode of the job once it exited.
	ExitCode int32 `cbor:"3,keyasint"`
	// StartedAt is the unix second of the job's start; 0 before.
	StartedAt int64 `cbor:"4,keyasint"`
	// Detail is a sentence for people, such as why the job could not be started.
	Detail string `cbor:"5,keyasint,omitempty" max:"1024"`
	// OutputBytes written by the job so far.
	OutputBytes uint64 `cbor:"6,keyasint"`
	// Image is how far the machine has fetched the job's image, for the lease's customer alone; nil where there is nothing to say.
	Image *ImagePull `cbor:"7,keyasint,omitempty"`
}

// ImagePhase is what a machine does for an image.
type ImagePhase uint8

// Phases of an image.
const (
	ImageAsking    ImagePhase = iota // the registry is asked what the image is made of
	ImageFetching                    // bytes come; layers that are here are unpacked meanwhile
	ImageUnpacking                   // all bytes are here
	ImageReady                       // the image is here
	ImageFailed                      // the last try has failed, and the machine tries again
)

// ImagePull is how far a machine has fetched an image, as it says. Sizes are bytes of layers as the registry has them. Layers that
// were in the machine's cache count as done.
type ImagePull struct {
	Phase ImagePhase `cbor:"1,keyasint"`
	// Total is 0 while it is not known.
	Total    uint64 `cbor:"2,keyasint"`
	Done     uint64 `cbor:"3,keyasint"`
	Unpacked uint64 `cbor:"4,keyasint"`
	// Rate is how many bytes a second came over the last seconds.
	Rate       uint64 `cbor:"5,keyasint"`
	Layers     uint32 `cbor:"6,keyasint"`
	LayersDone uint32 `cbor:"7,keyasint"`
	// StillSecs is for how many seconds nothing has come or was unpacked.
	StillSecs uint32 `cbor:"8,keyasint,omitempty"`
	// Why the last try has failed.
	Why string `cbor:"9,keyasint,omitempty" max:"1024"`
}

// Inventory is what the node says it has now. It is a claim: see the evidence tiers.
type Inventory struct {
	GPUs      []GPU    `cbor:"1,keyasint" max:"64"`
	CPUCores  uint32   `cbor:"2,keyasint"`
	RAMMiB    uint64   `cbor:"3,keyasint"`
	DiskGiB   uint64   `cbor:"4,keyasint"`
	Simulated bool     `cbor:"5,keyasint"`
	Device    [32]byte `cbor:"6,keyasint"` // device root: see agent/host
	// CUDA is the newest that the driver has, 100 × major + minor: 1204 is 12.4. 0 when it does not say.
	CUDA uint16 `cbor:"7,keyasint,omitempty"`
}

// NoAnswer is the fault of a GPU that the driver lists and that does not answer. No Xid is as large.
const NoAnswer uint64 = 1 << 32

// GPU is one device of an inventory.
type GPU struct {
	Name        string   `cbor:"1,keyasint" max:"128"`
	Identity    [32]byte `cbor:"2,keyasint"` // sha256("gantry-device" ‖ UUID)
	VRAMMiB     uint64   `cbor:"3,keyasint"`
	TempC       uint32   `cbor:"4,keyasint"`
	PowerW      uint32   `cbor:"5,keyasint"`
	Utilisation uint32   `cbor:"6,keyasint"` // percent
	ECCErrors   uint64   `cbor:"7,keyasint"` // uncorrected since boot
	Driver      string   `cbor:"8,keyasint" max:"128"`
	// Fault is the driver's code (NVIDIA's Xid) for a fault of the hardware that stands, or NoAnswer; 0 for none.
	Fault uint64 `cbor:"9,keyasint,omitempty"`
	// MIG: the GPU is split in instances, so that a lease does not get all of it.
	MIG bool `cbor:"10,keyasint,omitempty"`
}
