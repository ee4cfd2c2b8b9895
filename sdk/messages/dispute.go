package messages

// MaxComplaint bounds what a customer complains of in a dispute, bytes. Longer material is named by its hash in it.
const MaxComplaint = 256 << 10

// ComplaintUpload brings the complaint of an open dispute, whose sha256 is on chain.
type ComplaintUpload struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Data    []byte   `cbor:"3,keyasint" max:"262144"`
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
	Data    []byte `cbor:"2,keyasint,omitempty" max:"262144"`
}

// MaxAnswer bounds a provider's side of a dispute, bytes.
const MaxAnswer = 64 << 10

// AnswerUpload brings a provider's side of an open dispute. It is signed by the node's key or the provider's wallet, since
// nothing on chain names it: see records.Answer.
type AnswerUpload struct {
	Version   uint8    `cbor:"1,keyasint"`
	Lease     [32]byte `cbor:"2,keyasint"`
	OpenedAt  int64    `cbor:"3,keyasint"`
	WrittenAt int64    `cbor:"4,keyasint"`
	Data      []byte   `cbor:"5,keyasint" max:"65536"`
	Key       [32]byte `cbor:"6,keyasint"`
	Signature [64]byte `cbor:"7,keyasint"`
}

// AnswerRequest asks for the newest answer to the dispute of a lease, if it was written after a unix second.
type AnswerRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	After   int64    `cbor:"3,keyasint"`
}

// Answer answers both: with the answer, or without when it was brought or there is none.
type Answer struct {
	Version uint8         `cbor:"1,keyasint"`
	Answer  *AnswerUpload `cbor:"2,keyasint,omitempty"`
}
