package messages

import "github.com/gantry-market/gantry/sdk/records"

// SignedGrant is a grant with the signature of the lease's customer, or of its session key.
type SignedGrant struct {
	Grant     records.Grant `cbor:"1,keyasint"`
	Signer    [32]byte      `cbor:"2,keyasint"`
	Signature [64]byte      `cbor:"3,keyasint"`
}

// Verify checks everything but what is on chain. Errors: those of [records.Grant.Verify].
func (s *SignedGrant) Verify() error { return s.Grant.Verify(s.Signer, s.Signature) }

// GuestRequest asks a node for a way into a lease's container, for the gateway that a grant names.
type GuestRequest struct {
	Version uint8       `cbor:"1,keyasint"`
	Grant   SignedGrant `cbor:"2,keyasint"`
	// SSH asks for a stream for SSH, as Shell does. Otherwise the stream carries connections to the granted ports:
	// docs/protocol/network.md says how.
	SSH bool `cbor:"3,keyasint,omitempty"`
}

// PortsRequest asks a node for connections to ports of a lease's container, for the lease's customer. The stream is what a
// gateway's for ports is.
type PortsRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Ports   []uint16 `cbor:"3,keyasint" max:"16"`
}

// GuestAnswer accepts the stream or refuses it.
type GuestAnswer struct {
	Version uint8  `cbor:"1,keyasint"`
	Refused string `cbor:"2,keyasint,omitempty" max:"1024"`
}

// RevokeRequest makes void every grant of a lease that was issued until a time of the customer's clock.
type RevokeRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Until   int64    `cbor:"3,keyasint"` // unix milliseconds
}

// RevokeAnswer says whether it was done.
type RevokeAnswer struct {
	Version uint8  `cbor:"1,keyasint"`
	Refused string `cbor:"2,keyasint,omitempty" max:"1024"`
}

// GatewayOpenRequest brings a gateway what a customer grants it, in place of an earlier grant of the lease.
type GatewayOpenRequest struct {
	Version uint8       `cbor:"1,keyasint"`
	Grant   SignedGrant `cbor:"2,keyasint"`
	// Moves is the signer's signature over the same grant with the address of the lease's order in the place of the
	// lease's: for the leases that go on when a machine fails.
	Moves []byte `cbor:"3,keyasint,omitempty" max:"64"`
}

// GatewayOpenAnswer says where the container is reached from now on, or why it is not.
type GatewayOpenAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// URLs are those of the granted ports, in their order.
	URLs []string `cbor:"2,keyasint,omitempty" max:"16" each:"512"`
	// SSHAddress of the jump host, its public key in SSH's encoding, and the name by which it knows the container; empty
	// where no SSH key was granted.
	SSHAddress string `cbor:"3,keyasint,omitempty" max:"300"`
	SSHHostKey []byte `cbor:"4,keyasint,omitempty" max:"1024"`
	SSHName    string `cbor:"5,keyasint,omitempty" max:"300"`
	Refused    string `cbor:"6,keyasint,omitempty" max:"1024"`
	// Moves says that the names stay when the lease goes on elsewhere.
	Moves bool `cbor:"7,keyasint,omitempty"`
	// Terms are those of a gateway that asks a price; nil for one that does not.
	Terms *GatewayTerms `cbor:"8,keyasint,omitempty"`
}

// GatewayTerms say what a gateway asks for relaying, and what a lease may still have relayed. Bytes are those from and to
// the container, both ways together.
type GatewayTerms struct {
	// Domain of the gateway's cluster.
	Domain records.Domain `cbor:"1,keyasint"`
	// Price of a GiB (2^30 bytes), base units of the token.
	Price uint64 `cbor:"2,keyasint"`
	// Free bytes of each lease.
	Free uint64 `cbor:"3,keyasint,omitempty"`
	// Mint is the token, and Wallet the one to whose associated account it goes.
	Mint   [32]byte `cbor:"4,keyasint"`
	Wallet [32]byte `cbor:"5,keyasint"`
	// FreeLeft of the lease, and Left of what its customer has paid, which is for all of its leases; bytes.
	FreeLeft uint64 `cbor:"6,keyasint,omitempty"`
	Left     uint64 `cbor:"7,keyasint,omitempty"`
}

// GatewayAccountRequest asks a gateway for its terms; the lease is one that was granted to it.
type GatewayAccountRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
}

// GatewayAccountAnswer has them.
type GatewayAccountAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// Terms are nil where nothing is asked.
	Terms   *GatewayTerms `cbor:"2,keyasint,omitempty"`
	Refused string        `cbor:"3,keyasint,omitempty" max:"1024"`
}

// GatewayPayRequest brings the transaction that has paid: a transfer that names the purpose of [records.Payment].
type GatewayPayRequest struct {
	Version   uint8    `cbor:"1,keyasint"`
	Customer  [32]byte `cbor:"2,keyasint"`
	Number    uint64   `cbor:"3,keyasint"`
	Signature [64]byte `cbor:"4,keyasint"`
}

// GatewayPayAnswer says what it has bought.
type GatewayPayAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// Bytes that the payment has bought.
	Bytes   uint64 `cbor:"2,keyasint,omitempty"`
	Refused string `cbor:"3,keyasint,omitempty" max:"1024"`
	// Later: the same may be asked again in a moment.
	Later bool `cbor:"4,keyasint,omitempty"`
}

// GatewayCloseRequest has a gateway forget a lease.
type GatewayCloseRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
}

// GatewayCloseAnswer says whether it was done.
type GatewayCloseAnswer struct {
	Version uint8  `cbor:"1,keyasint"`
	Refused string `cbor:"2,keyasint,omitempty" max:"1024"`
}

// GatewaysRequest asks a keeper for the gateways that are connected with it.
type GatewaysRequest struct {
	Version uint8 `cbor:"1,keyasint"`
}

// MaxGateways bounds the gateways of one answer.
const MaxGateways = 32

// GatewaysAnswer names them: those with most free credits come first, so that a long list costs its author money.
type GatewaysAnswer struct {
	Version  uint8          `cbor:"1,keyasint"`
	Gateways []KnownGateway `cbor:"2,keyasint,omitempty" max:"32"`
}

// KnownGateway is a gateway that is connected with a keeper. The peer that answers at an address must prove the key.
type KnownGateway struct {
	Key   [32]byte `cbor:"1,keyasint"`
	Addrs []string `cbor:"2,keyasint,omitempty" max:"8" each:"512"`
}

// GatewayOfferRequest asks a gateway what it offers to everybody.
type GatewayOfferRequest struct {
	Version uint8 `cbor:"1,keyasint"`
}

// GatewayOfferAnswer is what it offers.
type GatewayOfferAnswer struct {
	Version uint8 `cbor:"1,keyasint"`
	// Cluster is the domain of records of the gateway's cluster.
	Cluster records.Domain `cbor:"2,keyasint"`
	// Domain below which leases have names.
	Domain string `cbor:"3,keyasint" max:"253"`
	// Price of a GiB (2^30 bytes), both ways together, base units of USDC; 0 where nothing is asked.
	Price uint64 `cbor:"4,keyasint,omitempty"`
	// Free bytes of each lease, where a price is asked.
	Free uint64 `cbor:"5,keyasint,omitempty"`
	// SSH says that it has a jump host.
	SSH bool `cbor:"6,keyasint,omitempty"`
	// Full says that it takes no new lease now.
	Full bool `cbor:"7,keyasint,omitempty"`
}
