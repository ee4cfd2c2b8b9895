package messages

// MaxRestartSecs bounds RestartNotice.Secs.
const MaxRestartSecs = 60

// RestartNotice says that the agent of a node stops and starts again. The sender is the node's key: the channel says so.
type RestartNotice struct {
	Version uint8 `cbor:"1,keyasint"`
	// Node is the node account's address.
	Node [32]byte `cbor:"2,keyasint"`
	// Secs is how long it may take, at most MaxRestartSecs.
	Secs uint16 `cbor:"3,keyasint"`
}

// RestartAnswer says whether the keeper waits.
type RestartAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// Refused says why it does not; empty when it does.
	Refused string `cbor:"2,keyasint,omitempty" max:"1024"`
}
