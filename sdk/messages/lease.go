package messages

import (
	"crypto/sha256"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/gantry-market/gantry/sdk/records"
)

// JobSpec is what a customer wants to have run. Its digest is in the order, so that what runs is what was ordered.
type JobSpec struct {
	Version uint8 `cbor:"1,keyasint"`
	// Image is an OCI reference with digest; empty for a process of the machine, on local networks.
	Image   string            `cbor:"2,keyasint,omitempty" max:"1024"`
	Command []string          `cbor:"3,keyasint" max:"4096" each:"131072"`
	Env     map[string]string `cbor:"4,keyasint,omitempty" max:"4096" each:"131072"`
	// MemoryMiB, CPUs and DiskMiB limit the job; 0 leaves the node's share.
	MemoryMiB uint64 `cbor:"5,keyasint,omitempty"`
	CPUs      uint32 `cbor:"6,keyasint,omitempty"`
	DiskMiB   uint64 `cbor:"7,keyasint,omitempty"`
	// Salt is random, so that a short command, or a secret in it, cannot be found by guessing what the digest on chain is of.
	Salt []byte `cbor:"8,keyasint,omitempty" max:"64"`
	// Network of a container: NetworkInternet, or empty for none.
	Network string `cbor:"9,keyasint,omitempty" max:"32"`
	// SSHKeys may log in to the job's container, as lines of an authorized_keys file; see Shell.
	SSHKeys []string `cbor:"10,keyasint,omitempty" max:"16" each:"16384"`
	// Volume of the job's container; nil for none.
	Volume *Volume `cbor:"11,keyasint,omitempty"`
	// Entrypoint is the container's program in place of the image's entry point and command; empty for those.
	Entrypoint string `cbor:"12,keyasint,omitempty" max:"131072"`
	// User of the container's program, NAME or number, with :GROUP if need be; empty for the image's.
	User string `cbor:"13,keyasint,omitempty" max:"256"`
	// ShmMiB is what /dev/shm of the container may hold, at most its memory; 0 for half of that.
	ShmMiB uint64 `cbor:"14,keyasint,omitempty"`
}

// NetworkInternet is the network of a container that reaches the internet, and nothing else.
const NetworkInternet = "internet"

// SaltBytes is how long the salt of a job is.
const SaltBytes = 16

// Digest is sha256 of a tag and the canonical encoding: the order's image digest.
func (s JobSpec) Digest() ([32]byte, error) {
	mode, err := cbor.CanonicalEncOptions().EncMode()
	if err != nil {
		return [32]byte{}, fmt.Errorf("canonical encoding: %w", err)
	}
	data, err := mode.Marshal(s)
	if err != nil {
		return [32]byte{}, fmt.Errorf("encode job: %w", err)
	}
	return sha256.Sum256(append([]byte(records.TagJob), data...)), nil
}

// DeployRequest brings the job for a lease. Sending it again changes nothing.
type DeployRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Job     JobSpec  `cbor:"3,keyasint"`
	// Registry opens the job's image where it is not there for everyone. It is no part of the job, whose digest is on chain;
	// sending the request again replaces it.
	Registry *RegistryCredential `cbor:"4,keyasint,omitempty"`
	// VolumeKey is the key of the job's volume: VolumeKeyBytes, drawn for this lease alone. The machine keeps it in memory.
	// It is no part of the job either.
	VolumeKey []byte `cbor:"5,keyasint,omitempty" max:"64"`
	// Backup is where snapshots of the volume go; nil for none.
	Backup *Backup `cbor:"6,keyasint,omitempty"`
	// RevokedUntil makes void every grant of the order that was issued until then, unix milliseconds: a machine that goes on
	// with a lease knows nothing of what its customer took back at the machine before.
	RevokedUntil int64 `cbor:"7,keyasint,omitempty"`
	// Group is the lease's place in its order's private network; nil for an order of one machine.
	Group *Group `cbor:"8,keyasint,omitempty"`
	// Sealed is a whole request that only a key of this lease opens (package attest/seal), SealedTo the key's id. Of the other
	// fields only Version and Lease are set then.
	Sealed   []byte `cbor:"9,keyasint,omitempty" max:"266240"`
	SealedTo []byte `cbor:"10,keyasint,omitempty" max:"32"`
	// Unrecorded asks the machine to keep no record of how the container started. It keeps none of images that need a
	// credential, and of jobs that came sealed, either.
	Unrecorded bool `cbor:"11,keyasint,omitempty"`
	// Guest says that Sealed is for the measured guest of the lease: the machine hands it on as it is.
	Guest bool `cbor:"12,keyasint,omitempty"`
}

// SealLost and SealUsed are what a node says of a sealed request: it has no such key, since it may have started anew; or
// the request was opened before. The customer has the node prove itself again, or seals anew.
const (
	SealLost = "this machine has no such key of the lease: ask it to prove itself again"
	SealUsed = "this sealed request was opened before"
)

// RegistryCredential is a bearer token for one repository, or, for registries that give out none, a name and a password.
// The machine keeps it in memory until the image is there.
type RegistryCredential struct {
	Token    string `cbor:"1,keyasint,omitempty" max:"16384"`
	User     string `cbor:"2,keyasint,omitempty" max:"256"`
	Password string `cbor:"3,keyasint,omitempty" max:"4096"`
}

// String keeps credentials out of logs.
func (RegistryCredential) String() string { return "(credential)" }

// LeaseRequest asks about one lease.
type LeaseRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
}

// LeaseOver is what a node says in LeaseAnswer.Refused of a job that comes when its lease is over: the customer looks at the
// chain how it ended.
const LeaseOver = "the lease is over"

// JobMissing, ContainerStarts and NetworkStarts are what a node says of a lease whose container does not run yet: who wants
// to enter it asks again a moment later.
const (
	JobMissing      = "the lease has not started yet: its job has not arrived"
	ContainerStarts = "the container has not started yet"
	NetworkStarts   = "the lease has no private network here yet"
)

// LeaseAnswer says where a lease is, or why the request was refused.
type LeaseAnswer struct {
	Version uint8       `cbor:"1,keyasint"`
	Status  LeaseStatus `cbor:"2,keyasint"`
	Refused string      `cbor:"3,keyasint,omitempty" max:"1024"`
	// Unknown says that the node has not seen the lease (yet): its view of the chain may be behind the customer's.
	Unknown bool `cbor:"4,keyasint,omitempty"`
}

// LogsRequest asks for a job's output from an offset on.
type LogsRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Offset  uint64   `cbor:"3,keyasint"`
	// Follow keeps the stream open until the job ends.
	Follow bool `cbor:"4,keyasint"`
}

// LogChunk is a piece of output. The last one has End set.
type LogChunk struct {
	Offset  uint64 `cbor:"1,keyasint"`
	Data    []byte `cbor:"2,keyasint" max:"262144"`
	End     bool   `cbor:"3,keyasint"`
	Refused string `cbor:"4,keyasint,omitempty" max:"1024"`
}

// ShellRequest asks for the SSH server in a lease's container.
type ShellRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	// User as which the server starts everything: a name of the container's or a number, with :GROUP if need be; empty for that of
	// the container's program.
	User string `cbor:"3,keyasint,omitempty" max:"256"`
}

// ShellAnswer accepts a stream for SSH, or refuses it. The bytes that follow are those of SSH.
type ShellAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// HostKey is the SSH server's public key in SSH's encoding.
	HostKey []byte `cbor:"2,keyasint" max:"1024"`
	Refused string `cbor:"3,keyasint,omitempty" max:"1024"`
	// User is the request's, so that nobody takes the container's for another one.
	User string `cbor:"4,keyasint,omitempty" max:"256"`
}

// Receipt is the node's offer: see sdk/records for the 72 bytes that are signed.
type Receipt struct {
	Version       uint8    `cbor:"1,keyasint"`
	Lease         [32]byte `cbor:"2,keyasint"`
	StartedAt     int64    `cbor:"3,keyasint"`
	Sequence      uint64   `cbor:"4,keyasint"`
	Seconds       uint64   `cbor:"5,keyasint"`
	NodeSignature [64]byte `cbor:"6,keyasint"`
	Refused       string   `cbor:"7,keyasint,omitempty" max:"1024"`
}

// SignedReceipt returns a receipt with the customer's signature; the node submits it.
type SignedReceipt struct {
	Receipt           Receipt  `cbor:"1,keyasint"`
	CustomerSignature [64]byte `cbor:"2,keyasint"`
}

// ReceiptAnswer says whether the node took the signed receipt.
type ReceiptAnswer struct {
	Version uint8  `cbor:"1,keyasint"`
	Refused string `cbor:"2,keyasint,omitempty" max:"1024"`
}
