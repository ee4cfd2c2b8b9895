package messages

// Group is a lease's place among the leases of its order, which have a private network. It comes with the job and is no part
// of it, since the order is older than its leases. A customer that moves a lease sends the changed group to all members.
type Group struct {
	// Index is the lease's place in Members. It decides the lease's address (mesh.Address) and stays when the lease moves.
	Index   uint8         `cbor:"1,keyasint" json:"index"`
	Members []GroupMember `cbor:"2,keyasint" json:"members" max:"64"`
	// Together has a bit for each place whose lease starts together with this one: bit i is place i. They wait for each other,
	// and see whether they have a direct connection. Zero: the lease starts alone.
	Together uint64 `cbor:"3,keyasint,omitempty" json:"together,omitempty"`
}

// GroupMember is a lease and the key of its machine.
type GroupMember struct {
	Lease [32]byte `cbor:"1,keyasint" json:"lease"`
	Node  [32]byte `cbor:"2,keyasint" json:"node"`
}

// MaxGroup is the largest number of members: an order has no more machines.
const MaxGroup = 64

// Valid reports whether the group has a place for the lease and names no lease twice.
func (g Group) Valid(lease [32]byte) bool {
	seen := map[[32]byte]bool{}
	for _, m := range g.Members {
		if seen[m.Lease] {
			return false
		}
		seen[m.Lease] = true
	}
	return len(g.Members) <= MaxGroup && int(g.Index) < len(g.Members) && g.Members[g.Index].Lease == lease
}

// Others are the places of the other leases that start together with this one.
func (g Group) Others() []int {
	var out []int
	for i := range g.Members {
		if i != int(g.Index) && g.Together>>i&1 == 1 && g.Together>>g.Index&1 == 1 {
			out = append(out, i)
		}
	}
	return out
}

// GroupHelloRequest tells the machine of another member how the sender's lease is reached in their private network.
type GroupHelloRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	From    [32]byte `cbor:"2,keyasint"` // the sender's lease
	To      [32]byte `cbor:"3,keyasint"` // the receiver's lease
	// Key is the WireGuard key of the sender's lease. It is zero before that lease starts: the sender asks how far the receiver is.
	Key [32]byte `cbor:"4,keyasint"`
	// Port is the UDP port of the sender, at the address from which its connection comes. A connection over QUIC shows the
	// port that routers in between have made of it, which counts then.
	Port uint16 `cbor:"5,keyasint"`
}

// GroupHelloAnswer is the same of the receiver, or says why not.
type GroupHelloAnswer struct {
	Version uint8    `cbor:"1,keyasint"`
	Key     [32]byte `cbor:"2,keyasint"`
	Port    uint16   `cbor:"3,keyasint"`
	Refused string   `cbor:"4,keyasint,omitempty" max:"1024"`
	// Ready: the receiver's lease runs, or its image is there and it waits for the others.
	Ready bool `cbor:"5,keyasint,omitempty"`
}

// GroupVisitRequest lets a computer of the customer's into the private network of a lease. The connection shows that the
// customer asks, or a session key of the customer's.
type GroupVisitRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	// Key is the WireGuard key of the computer.
	Key [32]byte `cbor:"3,keyasint"`
	// Kept asks for the place that is kept until the lease ends (mesh.KeptVisitor), for programs that cannot ask again. The other one
	// (mesh.Visitor) is free again when nobody has asked for it for a minute.
	Kept bool `cbor:"4,keyasint,omitempty"`
	// Begin takes the place from the computer that has it.
	Begin bool `cbor:"5,keyasint,omitempty"`
}

// GroupVisitAnswer says how the lease is reached, or why it is not.
type GroupVisitAnswer struct {
	Version uint8    `cbor:"1,keyasint"`
	Key     [32]byte `cbor:"2,keyasint"`
	// Port is the UDP port of the machine, as in GroupHelloRequest.
	Port uint16 `cbor:"3,keyasint"`
	// Index is the lease's place in its group, and Members how many places there are.
	Index   uint8  `cbor:"4,keyasint"`
	Members uint8  `cbor:"5,keyasint"`
	Refused string `cbor:"6,keyasint,omitempty" max:"1024"`
	// Taken says that it was refused because another computer has the place.
	Taken bool `cbor:"7,keyasint,omitempty"`
}
