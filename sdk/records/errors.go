package records

import "errors"

// Sentinel errors of strict decoding and verification.
var (
	// ErrLength means that the input has not exactly the length of its format.
	ErrLength = errors.New("wrong length")
	// ErrTag means that the input starts with another format's tag or version.
	ErrTag = errors.New("wrong tag")
	// ErrReserved means that bytes that must be zero are not.
	ErrReserved = errors.New("reserved bytes are not zero")
	// ErrValue means that a field holds a value outside its range.
	ErrValue = errors.New("value out of range")
	// ErrSignature means that the signature was not made by the key over these bytes.
	ErrSignature = errors.New("signature does not verify")
	// ErrDomain means that the message was made for another cluster.
	ErrDomain = errors.New("message of another cluster")
	// ErrProof means that a Merkle proof does not lead to the root.
	ErrProof = errors.New("merkle proof does not verify")
	// ErrOrder means that leaves are unsorted or doubled.
	ErrOrder = errors.New("leaves are not strictly sorted by node and lease")
)
