package starts

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	domain = records.Domain{1}
	image  = records.Hash{2}
)

// world is a chain with leases, and machines that answer as they like.
type world struct {
	t      *testing.T
	self   *p2p.Node
	peers  map[solana.PublicKey]*p2p.Node // the machines
	open   map[solana.PublicKey]*chain.Account
	closed map[solana.PublicKey]chain.Landed

	mu   sync.Mutex
	past int // histories that were asked for
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, peers: map[solana.PublicKey]*p2p.Node{}, open: map[solana.PublicKey]*chain.Account{}, closed: map[solana.PublicKey]chain.Landed{}}
	w.self, _ = w.peer()
	return w
}

func (w *world) peer() (*p2p.Node, solana.PrivateKey) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(w.t, err)
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, n.Close()) })
	return n, key
}

func (w *world) Accounts(_ context.Context, keys []solana.PublicKey, _ chain.Commitment) (out []*chain.Account, _ error) {
	for _, k := range keys {
		out = append(out, w.open[k])
	}
	return out, nil
}

func (w *world) Commitment() chain.Commitment { return chain.Confirmed }

func (w *world) History(_ context.Context, lease solana.PublicKey, _ chain.Commitment, _ int) ([]chain.SignatureInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.past++
	if l, ok := w.closed[lease]; ok {
		return []chain.SignatureInfo{{Signature: l.Signature, Slot: l.Slot}}, nil
	}
	return nil, nil
}

func (w *world) Transaction(_ context.Context, sig solana.Signature, _ chain.Commitment) (chain.Landed, error) {
	for _, l := range w.closed {
		if l.Signature == sig {
			return l, nil
		}
	}
	return chain.Landed{}, chain.ErrNotFound
}

// lease is one that is open on a node.
func (w *world) lease(address, node, customer solana.PublicKey) {
	var data bytes.Buffer
	data.Write(bindings.Account_Lease[:])
	require.NoError(w.t, bindings.Lease{Node: node, Customer: customer, Status: uint8(market.LeaseRunning), Version: market.LayoutVersion}.MarshalWithEncoder(bin.NewBorshEncoder(&data)))
	w.open[address] = &chain.Account{Key: address, Owner: market.ProgramID, Data: data.Bytes()}
}

// over is one that was closed.
func (w *world) over(address, node, customer solana.PublicKey) {
	keys := make([]solana.PublicKey, bindings.Place_OrderAward_Lease+1)
	keys[bindings.Place_OrderAward_Lease], keys[bindings.Place_OrderAward_Node], keys[bindings.Place_OrderAward_Credits] = address, node, market.CreditsAddress(customer)
	in := solana.CompiledInstruction{ProgramIDIndex: uint16(len(keys)), Data: slices.Clone(bindings.Instruction_OrderAward[:])}
	for i := range keys {
		in.Accounts = append(in.Accounts, uint16(i))
	}
	w.closed[address] = chain.Landed{
		Signature: solana.Signature(append(address[:], node[:]...)), Slot: 5, BlockTime: time.Unix(5, 0), Keys: append(keys, market.ProgramID),
		Tx: &solana.Transaction{Message: solana.Message{Instructions: []solana.CompiledInstruction{in}}}, Inner: map[int][]solana.CompiledInstruction{},
		Logs: []string{"Program " + market.ProgramID.String() + " invoke [1]", "Program " + market.ProgramID.String() + " success"},
	}
}

// machine is one that answers what answer makes with its key and its node's address.
func (w *world) machine(node byte, answer func(key solana.PrivateKey, node solana.PublicKey) messages.StartsAnswer) service.Offer {
	n, key := w.peer()
	address := solana.PublicKey{node}
	p := protocol
	p.Public = true
	p.MaxResponse = 8 << 20 // it keeps to no limit
	p2p.Handle(n, p, func(_ context.Context, _ solana.PublicKey, r messages.StartsRequest) (messages.StartsAnswer, error) {
		require.Equal(w.t, image, records.Hash(r.Image))
		return answer(key, address), nil
	})
	w.peers[n.Key()] = n
	return service.Offer{Address: address.String(), NodeKey: n.Key().String(), Provider: solana.PublicKey{node, 1}.String(), Model: "H100", ModelID: 7}
}

func (w *world) asker() *Asker {
	return New(w.self, func(ctx context.Context, node solana.PublicKey) error {
		if n, ok := w.peers[node]; ok {
			return w.self.Connect(ctx, n.Self())
		}
		return errors.New("not found")
	}, w, domain)
}

func start(node, lease solana.PublicKey, o records.StartOutcome) records.Start {
	return records.Start{Domain: domain, Image: image, Node: node, Lease: lease, Model: 7, Outcome: o, Driver: "595.45.04", At: time.Unix(3600, 0).UTC()}
}

func signed(t *testing.T, by solana.PrivateKey, s records.Start) messages.SignedStart {
	t.Helper()
	sig, err := s.Sign(by)
	require.NoError(t, err)
	b := s.Encode()
	return messages.SignedStart{Start: b[:], Signature: sig}
}

// says answers with records of these leases, all of which ran.
func says(t *testing.T, change func(*records.Start), leases ...byte) func(solana.PrivateKey, solana.PublicKey) messages.StartsAnswer {
	return func(key solana.PrivateKey, node solana.PublicKey) messages.StartsAnswer {
		a := messages.StartsAnswer{Version: messages.Version, Driver: "595.45.04", Sandbox: "release-1"}
		for _, l := range leases {
			s := start(node, solana.PublicKey{l}, records.StartRan)
			if change != nil {
				change(&s)
			}
			a.Starts = append(a.Starts, signed(t, key, s))
		}
		return a
	}
}

// Records count that the machine's own key has signed, about a lease that was on it, of another customer than its owner.
func TestRecordsCountOnlyWithALeaseOnTheirOwnMachine(t *testing.T) {
	w := newWorld(t)
	foreign, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	node := func(n byte) solana.PublicKey { return solana.PublicKey{n} }
	w.lease(node(100), node(1), solana.PublicKey{200})
	w.over(node(101), node(1), solana.PublicKey{201})
	w.lease(node(102), node(9), solana.PublicKey{200}) // on another machine
	w.over(node(103), node(9), solana.PublicKey{200})
	w.lease(node(105), node(8), solana.PublicKey{8, 1}) // of the owner
	w.lease(node(106), node(7), solana.PublicKey{200})
	w.over(node(107), node(7), solana.PublicKey{200}) // the same customer
	honest := w.machine(1, says(t, nil, 100, 101))
	liar := w.machine(2, says(t, nil, 102, 103, 104)) // 104 was never a lease
	self := w.machine(8, says(t, nil, 105))
	often := w.machine(7, says(t, nil, 106, 107))
	others := w.machine(3, func(solana.PrivateKey, solana.PublicKey) messages.StartsAnswer { // what others have signed, and nobody
		_, key := w.peer()
		a := says(t, nil, 100)(foreign, node(3))
		a.Starts = append(a.Starts, says(t, nil, 100)(key, node(1)).Starts...)
		return a
	})
	var wrong []service.Offer
	for i, change := range []func(*records.Start){
		func(s *records.Start) { s.Node = node(1) }, func(s *records.Start) { s.Domain[0]++ }, func(s *records.Start) { s.Image[0]++ }, func(s *records.Start) { s.Model++ },
	} {
		wrong = append(wrong, w.machine(20+byte(i), says(t, change, 100)))
	}
	away := service.Offer{Address: node(5).String(), NodeKey: foreign.PublicKey().String(), Provider: node(6).String()}

	offers := append([]service.Offer{away, liar, self, others, often, honest}, wrong...)
	got, err := w.asker().Offers(t.Context(), image, offers, Search)
	require.NoError(t, err)
	of := map[string]*service.ImageStarts{}
	for i := range got {
		of[got[i].Address] = got[i].Image
	}
	require.Equal(t, []string{often.Address, honest.Address}, []string{got[0].Address, got[1].Address}, "those on which it ran come first")
	require.Equal(t, "ran here: 2 of 2", of[honest.Address].Says)
	require.Equal(t, "ran here: 1 of 1", of[often.Address].Says, "a customer has one vote")
	require.False(t, of[away.Address].Answered)
	require.Equal(t, "no answer", of[away.Address].Says)
	for offer, unproven := range map[*service.Offer]int{&liar: 3, &self: 1, &others: 2, &wrong[0]: 1, &wrong[1]: 1, &wrong[2]: 1, &wrong[3]: 1} {
		require.Equal(t, unproven, of[offer.Address].Unproven, offer.Address)
		require.Zero(t, of[offer.Address].Ran, offer.Address)
		require.Equal(t, "ran on driver 595.x: 3 of 3", of[offer.Address].Says, "of the two honest ones")
	}
}

// A machine that floods is one that has not answered, and one that invents leases uses up nobody else's reads of the chain.
func TestAHostileMachineCostsASearchLittle(t *testing.T) {
	w := newWorld(t)
	many := func(n int) func(solana.PrivateKey, solana.PublicKey) messages.StartsAnswer {
		return func(key solana.PrivateKey, node solana.PublicKey) messages.StartsAnswer {
			a := messages.StartsAnswer{Version: messages.Version, Driver: "595.1"}
			for i := range n {
				a.Starts = append(a.Starts, signed(t, key, start(node, solana.PublicKey{node[0], byte(i), byte(i >> 8), 1}, records.StartRan)))
			}
			return a
		}
	}
	flood := w.machine(40, many(messages.MaxStarts+1))
	huge := w.machine(41, many(1000))
	terminal := w.machine(42, func(solana.PrivateKey, solana.PublicKey) messages.StartsAnswer {
		return messages.StartsAnswer{Driver: "5\x1b[31m", Sandbox: "\x07"}
	})
	broken := w.machine(43, func(key solana.PrivateKey, node solana.PublicKey) messages.StartsAnswer {
		return messages.StartsAnswer{Starts: []messages.SignedStart{{Start: []byte("GANTRYW1")}, {}}}
	})
	offers := []service.Offer{flood, huge, terminal, broken}
	for i := range byte(8) {
		offers = append(offers, w.machine(50+i, many(messages.MaxStarts)))
	}
	honest := w.machine(60, says(t, nil, 110))
	w.over(solana.PublicKey{110}, solana.PublicKey{60}, solana.PublicKey{200})
	offers = append(offers, honest)
	a := w.asker()
	for range 2 {
		got, err := a.Offers(t.Context(), image, offers, Search)
		require.NoError(t, err)
		require.Equal(t, honest.Address, got[0].Address)
		require.Equal(t, 1, got[0].Image.Ran)
		for i := range got {
			switch is := got[i].Image; got[i].Address {
			case flood.Address, huge.Address:
				require.False(t, is.Answered)
			case terminal.Address:
				require.Equal(t, "531m", is.Driver)
				require.Empty(t, is.Sandbox)
			case broken.Address:
				require.Equal(t, 2, is.Unproven)
			}
		}
	}
	require.LessOrEqual(t, w.past, 2*Search.Past)
}

// A purchase waits for no machine that does not answer: what it has learned by then counts, and no machine beyond the best is asked.
func TestAPurchaseWaitsForNoMachine(t *testing.T) {
	w := newWorld(t)
	slow := w.machine(40, func(solana.PrivateKey, solana.PublicKey) messages.StartsAnswer {
		<-t.Context().Done()
		return messages.StartsAnswer{}
	})
	bad := w.machine(41, says(t, func(s *records.Start) { s.Outcome = records.StartStatus }, 111))
	w.lease(solana.PublicKey{111}, solana.PublicKey{41}, solana.PublicKey{200})
	beyond := w.machine(42, says(t, nil, 112))
	w.lease(solana.PublicKey{112}, solana.PublicKey{42}, solana.PublicKey{200})
	in := Bounds{Most: 2, One: 300 * time.Millisecond, All: 300 * time.Millisecond, Proof: time.Second, Past: 8}
	began := time.Now()
	got, err := w.asker().Offers(t.Context(), image, []service.Offer{slow, bad, beyond}, in)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 3*time.Second)
	runs := service.RunsOf(got)
	require.Equal(t, "failed on driver 595.x: 1 of 1", runs.Says)
	require.True(t, runs.Fails)
	require.Equal(t, 2, runs.Asked)
	require.Equal(t, 1, runs.Answered)

	require.LessOrEqual(t, Purchase.One+Purchase.All+Purchase.Proof, 10*time.Second)
	require.LessOrEqual(t, Purchase.Most, atOnce, "a second round of questions would take as long again")
}
