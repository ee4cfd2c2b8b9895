package hostile

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Role is what an attacker is in the market.
type Role string

// The roles.
const (
	Stranger Role = "stranger"
	Crowd    Role = "stranger with many addresses" // of one IPv6 /64; it makes attacks that name it, and no others
	Customer Role = "customer"                     // with credits, and nothing else
	Tenant   Role = "tenant"                       // customer of a running lease
	Machine  Role = "machine"                      // registered, with a stake
	Waiting  Role = "waiting keeper"               // bonded, its weight does not count yet; its address on chain is the victim's
	Active   Role = "active keeper"                // its weight counts
	Leaving  Role = "leaving keeper"               // has asked for its bond; its address is the victim's too
	Expelled Role = "expelled keeper"              // slashed
)

// setup is what an attacker is told.
type setup struct {
	Name, Addr string
	Addrs6     []string
	Role       Role
	Key        solana.PrivateKey
	Domain     records.Domain
	PeriodSecs uint32
	Keepers    []p2p.Peer // honest
	Machines   []p2p.Peer // honest
	Gateways   []p2p.Peer // honest; their other ports are gatewayTLS and gatewaySSH
	Nodes      []solana.PublicKey
	Lease      solana.PublicKey // of the tenant
	Victim     string           // address of a machine that takes no part
	For, Turn  time.Duration
	Only       string // one attack; empty for all
	First      int    // with which attack it begins, so that different ones meet
}

// Count is what an attack came to.
type Count struct {
	Attempts uint64 `json:"attempts"`
	Answered uint64 `json:"answered"` // an answer, or what was sent was taken
	Refused  uint64 `json:"refused"`  // said, or by closing
	Bytes    uint64 `json:"bytes"`    // sent
}

func (c Count) plus(o Count) Count {
	return Count{c.Attempts + o.Attempts, c.Answered + o.Answered, c.Refused + o.Refused, c.Bytes + o.Bytes}
}

// tally counts while an attack runs.
type tally struct{ attempts, answered, refused, bytes atomic.Uint64 }

func (t *tally) count() Count {
	return Count{t.attempts.Load(), t.answered.Load(), t.refused.Load(), t.bytes.Load()}
}

// took counts an attempt by how it ended.
func (t *tally) took(err error) {
	t.attempts.Add(1)
	if err == nil {
		t.answered.Add(1)
	} else {
		t.refused.Add(1)
	}
}

// attack is one way to harm.
type attack struct {
	name, what string
	by         []Role // who can; nil: everybody
	keepers    bool   // what it is set on
	machines   bool
	gateways   bool
	always     bool // beside the others, all the time
	run        func(ctx context.Context, a *attacker, to target, t *tally)
}

// target is an honest daemon.
type target struct {
	peer.AddrInfo
	kind kind
	tcp  string         // host:port
	quic []ma.Multiaddr // of a keeper
}

// attacker is one process in a namespace of its own.
type attacker struct {
	setup
	targets []target
	lies    tally // answers to what honest daemons ask
	sets    inventions
}

// RunAttacker is the process of one attacker: it reads a setup, attacks as long as it says, and writes what the attacks
// came to.
func RunAttacker(ctx context.Context, in io.Reader, out io.Writer) error {
	a := &attacker{}
	if err := json.NewDecoder(in).Decode(&a.setup); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	if a.Name == victim {
		return runVictim(ctx, a.For, out)
	}
	for k, group := range [][]p2p.Peer{aKeeper: a.Keepers, aMachine: a.Machines, aGateway: a.Gateways} {
		for _, p := range group {
			t, err := newTarget(p, kind(k))
			if err != nil {
				return err
			}
			a.targets = append(a.targets, t)
		}
	}
	return json.NewEncoder(out).Encode(a.rotate(ctx))
}

func newTarget(p p2p.Peer, k kind) (target, error) {
	id, err := p2p.PeerID(p.Key)
	if err != nil {
		return target{}, err
	}
	t := target{AddrInfo: peer.AddrInfo{ID: id}, kind: k}
	for _, text := range p.Addrs {
		m, err := ma.NewMultiaddr(text)
		if err != nil {
			return t, fmt.Errorf("address of a target: %w", err)
		}
		t.Addrs = append(t.Addrs, m)
		if _, t.tcp, err = manet.DialArgs(m); err != nil {
			return t, fmt.Errorf("address of a target: %w", err)
		}
		for _, twin := range p2p.TCPAndQUIC(text)[1:] {
			t.quic = append(t.quic, ma.StringCast(twin))
		}
	}
	return t, nil
}

// rotate makes one attack after the other, and beside them those that go on all the time.
func (a *attacker) rotate(ctx context.Context) map[string]Count {
	ctx, cancel := context.WithTimeout(ctx, a.For)
	defer cancel()
	var turns []attack
	var wg sync.WaitGroup
	steady := map[string]*tally{}
	for _, x := range attacks() {
		switch {
		case x.by != nil && !slices.Contains(x.by, a.Role) || x.by == nil && a.Role == Crowd || a.Only != "" && a.Only != x.name:
		case x.always:
			steady[x.name] = &a.lies
			wg.Go(func() { a.on(ctx, x, &tally{}) }) // what counts are the lies that are heard
		default:
			turns = append(turns, x)
		}
	}
	counts := map[string]Count{}
	for i := a.First; ctx.Err() == nil && len(turns) > 0; i++ {
		x := turns[i%len(turns)]
		turn, done := context.WithTimeout(ctx, a.Turn)
		var t tally
		a.on(turn, x, &t)
		<-turn.Done() // an attack that was cut off soon waits for its turn's end
		done()
		counts[x.name] = counts[x.name].plus(t.count())
	}
	wg.Wait()
	for name, t := range steady {
		counts[name] = t.count()
	}
	return counts
}

// on makes an attack on all of its targets at once.
func (a *attacker) on(ctx context.Context, x attack, t *tally) {
	var wg sync.WaitGroup
	for _, to := range a.targets {
		if [...]bool{aKeeper: x.keepers, aMachine: x.machines, aGateway: x.gateways}[to.kind] {
			wg.Go(func() { x.run(ctx, a, to, t) })
		}
	}
	wg.Wait()
}

// host starts a libp2p host without limits. Strangers have a new key each time.
func (a *attacker) host(more ...libp2p.Option) (host.Host, error) {
	key := a.Key
	if a.Role == Stranger || a.Role == Crowd {
		var err error
		if key, err = solana.NewRandomPrivateKey(); err != nil {
			return nil, err
		}
	}
	id, err := crypto.UnmarshalEd25519PrivateKey(key)
	if err != nil {
		return nil, err
	}
	h, err := libp2p.New(append([]libp2p.Option{
		libp2p.Identity(id), libp2p.ResourceManager(&network.NullResourceManager{}), libp2p.DisableMetrics(), libp2p.NoListenAddrs, libp2p.EnableRelay(),
	}, more...)...)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Role == Machine:
		a.serveLies(h)
	case slices.Contains(keeperKeys, a.Role):
		a.serveFalseSets(h)
	}
	return h, nil
}

// dialed is a host with a connection to the target; nil when there is none.
func (a *attacker) dialed(ctx context.Context, to target, t *tally, more ...libp2p.Option) host.Host {
	h, err := a.host(more...)
	if err == nil {
		dial, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		at := to.AddrInfo
		if to.kind == aKeeper && rand.IntN(2) == 0 {
			at.Addrs = to.quic // keepers listen at both
		}
		if err = h.Connect(dial, at); err != nil {
			_ = h.Close()
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			t.took(err)
		}
		return nil
	}
	return h
}

// connected calls f with a host that is connected to the target, again and again, until ctx ends. pause is between two
// calls.
func (a *attacker) connected(ctx context.Context, to target, t *tally, pause time.Duration, f func(h host.Host) error) {
	var h host.Host
	defer func() {
		if h != nil {
			_ = h.Close()
		}
	}()
	for ctx.Err() == nil {
		if h == nil || h.Network().Connectedness(to.ID) != network.Connected {
			if h != nil {
				_ = h.Close()
			}
			if h = a.dialed(ctx, to, t); h == nil {
				_ = wait.For(ctx, 200*time.Millisecond)
				continue
			}
		}
		if err := f(h); ctx.Err() == nil || err == nil {
			t.took(err)
		}
		_ = wait.For(ctx, pause)
	}
}

// stream opens a stream of a protocol of the market.
func stream(ctx context.Context, h host.Host, to target, p string) (network.Stream, error) {
	return open(ctx, h, to, p2p.WireID(p, p2p.MessagesVersion()))
}

// open opens a stream without the handshake that tells whether the peer has the protocol.
func open(ctx context.Context, h host.Host, to target, id protocol.ID) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(network.WithNoDial(ctx, "attack"), 2*time.Second)
	defer cancel()
	s, err := h.NewStream(ctx, to.ID, id)
	if err != nil {
		return nil, err
	}
	return s, s.SetDeadline(time.Now().Add(10 * time.Second))
}

// errRefused is the error of a request that was answered with a refusal.
var errRefused = errors.New("refused")

// ask sends bytes on a stream of a protocol and reads the answer.
func ask(ctx context.Context, h host.Host, to target, p string, raw []byte, t *tally) error {
	return askIn(ctx, h, to, p2p.WireID(p, p2p.MessagesVersion()), raw, t)
}

func askIn(ctx context.Context, h host.Host, to target, id protocol.ID, raw []byte, t *tally) error {
	s, err := open(ctx, h, to, id)
	if err != nil {
		return err
	}
	defer func() { _ = s.Reset() }()
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	n, err := s.Write(raw)
	t.bytes.Add(uint64(n))
	if err != nil {
		return err
	}
	_ = s.CloseWrite()
	return answer(s)
}

// answer reads an answer; a refusal is an error.
func answer(s network.Stream) error {
	var head [4]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(s, int64(binary.LittleEndian.Uint32(head[:]))))
	if err != nil {
		return err
	}
	var e []cbor.RawMessage
	if err := cbor.Unmarshal(body, &e); err != nil || len(e) != 4 {
		return fmt.Errorf("no envelope: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	if len(e[1]) != 1 || e[1][0] != 0 {
		return errRefused
	}
	return nil
}

// frame puts the length before bytes.
func frame(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// envelope is how a message travels; see sdk/p2p.
func envelope(version uint, body any) []byte {
	raw, err := p2p.Encode([]any{version, 0, "", body})
	if err != nil {
		panic(err) // of a message of ours
	}
	return raw
}

// key32 is a random key or digest.
func key32() (k [32]byte) {
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(k[i:], rand.Uint64())
	}
	return k
}

// junk is random bytes.
func junk(n int) []byte {
	b := make([]byte, 0, n+32)
	for len(b) < n {
		k := key32()
		b = append(b, k[:]...)
	}
	return b[:n]
}

func (a *attacker) period() uint64 { return uint64(time.Now().Unix()) / uint64(a.PeriodSecs) }
