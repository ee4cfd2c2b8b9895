package messages

// StartsRequest asks a machine how containers of an image have started on it.
type StartsRequest struct {
	Version uint8 `cbor:"1,keyasint"`
	// Image is the sha256 of the image's manifest. Nobody is told of images that he does not name.
	Image [32]byte `cbor:"2,keyasint"`
}

// MaxStarts is how many starts of one image a machine keeps, and answers with.
const MaxStarts = 32

// StartsAnswer are the starts of one image, the newest first, and what the machine has now.
type StartsAnswer struct {
	Version uint8         `cbor:"1,keyasint"`
	Starts  []SignedStart `cbor:"2,keyasint" max:"32"`
	// Driver and Sandbox are the versions that the machine has now, in the form of sdk/records; empty for none.
	Driver  string `cbor:"3,keyasint,omitempty" max:"16"`
	Sandbox string `cbor:"4,keyasint,omitempty" max:"24"`
}

// SignedStart is a start as sdk/records encodes it, signed by the node's key.
type SignedStart struct {
	Start     []byte   `cbor:"1,keyasint" max:"160"`
	Signature [64]byte `cbor:"2,keyasint"`
}

// MaxStartsAnswer bounds the bytes of a StartsAnswer.
const MaxStartsAnswer = 16 << 10
