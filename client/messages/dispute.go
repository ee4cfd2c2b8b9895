package messages

// MaxComplaint bounds what a customer complains of in a dispute, bytes. Longer material is named by its hash in it.
const MaxComplaint = 256 << 10

// ComplaintUpload brings the complaint of an open dispute, whose sha256 is on chain.
type ComplaintUpload struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Data    []byte   `cbor:"3,keyasint"`
}

// ComplaintRequest asks for the complaint with this sha256.
type ComplaintRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Hash    [32]byte `cbor:"3,keyasint"`
}

// Complaint answers both: with the complaint, or without when it was brought.
type Complaint struct {
	Version uint8  `cbor:"1,keyasint"`
	Data    []byte `cbor:"2,keyasint,omitempty"`
}
