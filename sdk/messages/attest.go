package messages

// AttestRequest asks the machine of a lease to prove itself to the lease's customer, who is the stream's authenticated
// peer: by evidence, or by a step of enrolling its TPM in place of that.
type AttestRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	// Nonce is 32 random bytes: with the lease they make the id of the challenge (attest.LeaseID).
	Nonce [32]byte `cbor:"3,keyasint"`
	// SlotHash and Expiry are those of the challenge.
	SlotHash [32]byte `cbor:"4,keyasint"`
	Expiry   int64    `cbor:"5,keyasint"`
	TPM      *TPMStep `cbor:"6,keyasint,omitempty"`
	// Guest asks the measured guest of the lease in place of the machine, which starts it at the first such request.
	Guest bool `cbor:"7,keyasint,omitempty"`
}

// AttestAnswer answers with the part that was asked for.
type AttestAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// Refused says why there is no answer; Again that there may be one in a moment.
	Refused string `cbor:"2,keyasint,omitempty" max:"1024"`
	Again   bool   `cbor:"3,keyasint,omitempty"`
	// Evidence is an encoded bundle: see package attest/bundle.
	Evidence []byte     `cbor:"4,keyasint,omitempty" max:"4194304"`
	TPM      *TPMAnswer `cbor:"5,keyasint,omitempty"`
	// NoTPM: the machine has none that it shows.
	NoTPM bool `cbor:"6,keyasint,omitempty"`
}
