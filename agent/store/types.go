package store

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Key is a 32-byte account address or public key.
type Key [32]byte

// MarshalText writes the key in hexadecimal.
func (k Key) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(k[:])), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Key) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(string(b))
	if err != nil || len(raw) != len(k) {
		return fmt.Errorf("%q is not a 32-byte key in hexadecimal", b)
	}
	copy(k[:], raw)
	return nil
}

// MicroUSDC is money in millionths of a USDC.
type MicroUSDC uint64

// State is where a lease stands from the agent's point of view.
type State string

// A lease moves forward only:
//
//	awarded → starting → running → exited → ended → closed
//
// with short cuts to ended (aborted before its start, or ended while running) and from starting to exited (the job
// could not be started). The one way back is TakeUp, of a lease that was stored as over by mistake.
const (
	// Awarded: seen on chain, nothing done yet.
	Awarded State = "awarded"
	// Starting: the job is about to be started, or was; the runtime knows which.
	Starting State = "starting"
	// Running: the job runs and the lease was started on chain.
	Running State = "running"
	// Exited: the job is over, its exit is recorded; the lease is not yet ended.
	Exited State = "exited"
	// Ended: the lease is over on chain, or was aborted; its tail may be unpaid.
	Ended State = "ended"
	// Closed: settled and closed on chain; nothing is left to do.
	Closed State = "closed"
)

var next = map[State][]State{
	Awarded:  {Starting, Ended},
	Starting: {Running, Exited, Ended},
	Running:  {Exited, Ended},
	Exited:   {Ended},
	Ended:    {Closed},
	Closed:   {},
}

// Valid reports whether s is a known state.
func (s State) Valid() bool { _, ok := next[s]; return ok }

// CanBecome reports whether a lease in s may move to t. Staying is allowed.
func (s State) CanBecome(t State) bool {
	if s == t {
		return s.Valid()
	}
	for _, n := range next[s] {
		if n == t {
			return true
		}
	}
	return false
}

// Live reports whether the lease may still hold GPUs or a process.
func (s State) Live() bool { return s == Awarded || s == Starting || s == Running || s == Exited }

// Job is what the customer asked to run.
type Job struct {
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// Image is an OCI reference; empty for the process runtime.
	Image string `json:"image,omitempty"`
	// Network is the container's; empty for none.
	Network string `json:"network,omitempty"`
	// MemoryMiB, CPUs and DiskMiB are the customer's own limits; 0 leaves the node's share.
	MemoryMiB uint64 `json:"memory_mib,omitempty"`
	CPUs      uint32 `json:"cpus,omitempty"`
	DiskMiB   uint64 `json:"disk_mib,omitempty"`
	// SSHKeys may log in to the container.
	SSHKeys []string `json:"ssh_keys,omitempty"`
	// Volume is the container's; nil for none. Its key is not stored.
	Volume *messages.Volume `json:"volume,omitempty"`
	// Entrypoint and User are in place of the image's; empty for those.
	Entrypoint string `json:"entrypoint,omitempty"`
	User       string `json:"user,omitempty"`
	// ShmMiB is the customer's size of /dev/shm; 0 for half of the memory.
	ShmMiB uint64 `json:"shm_mib,omitempty"`
	// Unrecorded: nobody is told how the image has started here.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Guest: the job is sealed to the lease's measured guest, and nothing else of it is known here.
	Guest bool `json:"guest,omitempty"`
}

// Exit is how a job ended.
type Exit struct {
	Code   int       `json:"code"`
	Signal string    `json:"signal,omitempty"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Output is what a node of a redundant job stands for: the sha256 of what the job wrote to its standard output, and the
// salt of its commitment.
type Output struct {
	Hash Key `json:"hash"`
	Salt Key `json:"salt"`
}

// Step is one entry of a lease's history.
type Step struct {
	State State     `json:"state"`
	At    time.Time `json:"at"`
}

// Lease is what the agent knows of one lease. Times are UTC; zero if not known.
type Lease struct {
	Address         Key       `json:"address"`
	Order           Key       `json:"order"`
	Node            Key       `json:"node"`
	Customer        Key       `json:"customer"`
	GPUMask         uint64    `json:"gpu_mask"`
	PricePerGPUHour MicroUSDC `json:"price_per_gpu_hour"`
	Job             *Job      `json:"job,omitempty"`
	// Group is the lease's place in its order's private network; nil for none.
	Group *messages.Group `json:"group,omitempty"`
	// Refused says why this node does not serve the lease; then it declines it before the start. Empty otherwise.
	Refused string `json:"refused,omitempty"`
	// Decline is the reason on chain, see market.DeclineReason; 0 where Refused is empty.
	Decline        uint8     `json:"decline,omitempty"`
	State          State     `json:"state"`
	AwardedAt      time.Time `json:"awarded_at"`
	StartedAt      time.Time `json:"started_at"`
	FundedUntil    time.Time `json:"funded_until"`
	EndedAt        time.Time `json:"ended_at"`
	ConnectionHash Key       `json:"connection_hash"`
	// Checkpoint is the sha256 in hex from which a moved lease's job goes on; empty for none.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Output of a redundant job, once it is over.
	Output *Output `json:"output,omitempty"`
	Exit   *Exit   `json:"exit,omitempty"`
	// RevokedUntil makes void what the customer has granted to gateways until then, unix milliseconds.
	RevokedUntil int64 `json:"revoked_until,omitempty"`
	// Found is true of a lease that had started before this file knew it: an earlier file had its job and its receipts.
	Found bool `json:"found,omitempty"`
	// Slot is one at which the lease was on chain. What an endpoint says of an earlier slot says nothing about it.
	Slot uint64 `json:"slot,omitempty"`
	// Note says why the last change happened, for people.
	Note    string `json:"note,omitempty"`
	History []Step `json:"history"`
}

// Receipt is the last receipt that the node signed for a lease.
type Receipt struct {
	Lease    Key    `json:"lease"`
	Sequence uint64 `json:"sequence"`
	// Seconds is the cumulative paid-for time.
	Seconds uint64    `json:"seconds"`
	At      time.Time `json:"at"`
	// NodeSignature is set by SignReceipt; empty until then.
	NodeSignature []byte `json:"node_signature,omitempty"`
	// CustomerSignature is empty until the customer has answered.
	CustomerSignature []byte `json:"customer_signature,omitempty"`
	// CustomerKey is the session key that signed for the customer; zero is its own.
	CustomerKey Key `json:"customer_key"`
	// Signed is the newest receipt of this lease that both sides signed. It stays when a newer one is offered, so that
	// a customer who goes away takes no money along.
	Signed *SignedReceipt `json:"signed,omitempty"`
}

// SignedReceipt is a receipt that can be settled.
type SignedReceipt struct {
	Sequence          uint64 `json:"sequence"`
	Seconds           uint64 `json:"seconds"`
	NodeSignature     []byte `json:"node_signature"`
	CustomerSignature []byte `json:"customer_signature"`
	CustomerKey       Key    `json:"customer_key"`
}
