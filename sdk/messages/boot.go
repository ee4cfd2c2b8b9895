package messages

// BootRequest asks which process answers for a node's key.
type BootRequest struct {
	Version uint8 `cbor:"1,keyasint"`
	// Nonce is that of the agent that wants to know.
	Nonce [32]byte `cbor:"2,keyasint"`
}

// BootAnswer is a signed records.Boot; domain and nonce are known to who asks.
type BootAnswer struct {
	Version   uint8    `cbor:"1,keyasint"`
	Boot      [16]byte `cbor:"2,keyasint"`
	UpMillis  uint64   `cbor:"3,keyasint"`
	Signature [64]byte `cbor:"4,keyasint"`
}

// BootsRequest has a keeper ask all processes that are connected to it with the caller's key.
type BootsRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Nonce   [32]byte `cbor:"2,keyasint"`
}

// MaxBoots bounds BootsAnswer.Boots.
const MaxBoots = 8

// BootsAnswer holds what they said, the caller's own answer too. The caller believes none whose signature is not its own
// key's, over its nonce.
type BootsAnswer struct {
	Version uint8        `cbor:"1,keyasint"`
	Boots   []BootAnswer `cbor:"2,keyasint" max:"8"`
}
