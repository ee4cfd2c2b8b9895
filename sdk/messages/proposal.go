package messages

// ProposalRequest asks for the proposal of a period with a root.
type ProposalRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Period  uint64   `cbor:"2,keyasint"`
	Root    [32]byte `cbor:"3,keyasint"`
}
