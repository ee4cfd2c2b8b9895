package messages

// SuspendRequest asks a node to suspend a lease's container. Sending it again asks how far that is.
type SuspendRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	// Attempt is drawn by the customer. Another one tries again after a failure.
	Attempt [16]byte `cbor:"3,keyasint"`
}

// SuspendAnswer says how far it is: done with a hash, failed with a reason, or neither yet. A container of a failed attempt
// runs on.
type SuspendAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// Hash names the snapshot from which another lease goes on; zero as long as there is none.
	Hash    [32]byte `cbor:"2,keyasint"`
	Failed  string   `cbor:"3,keyasint,omitempty" max:"1024"`
	Refused string   `cbor:"4,keyasint,omitempty" max:"1024"`
}
