package signing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// The test program runs itself as a signer, so that it can be killed.
const (
	childFolder = "GANTRY_TEST_SIGNER" // set in the child only
	childKey    = "GANTRY_TEST_KEY"
	childTTL    = time.Millisecond // the hold passes on whenever its holder pauses
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if err := signerProcess(dir); err != nil {
			fmt.Fprintln(os.Stderr, "signer:", err)
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

func signerProcess(dir string) error {
	raw, err := hex.DecodeString(os.Getenv(childKey))
	if err != nil {
		return err
	}
	key := solana.PrivateKey(raw)
	s, err := store.Open(filepath.Join(dir, "keeper.db"), store.Options{Keeper: key.PublicKey(), Domain: testDomain, FirstPeriod: firstPeriod, LockTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	server, err := NewServer(ServerOptions{Key: New(s, key, testDomain), TTL: childTTL})
	if err != nil {
		return err
	}
	l, err := ListenSocket(filepath.Join(dir, "signer.sock"))
	if err != nil {
		return err
	}
	return server.Serve(noEnd{}, l)
}

// killable is a signer in a process of its own.
type killable struct {
	dir string
	key solana.PrivateKey
	cmd *exec.Cmd
}

func (k *killable) start(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	k.cmd = exec.Command(self)
	k.cmd.Env = append(os.Environ(), childFolder+"="+k.dir, childKey+"="+hex.EncodeToString(k.key))
	k.cmd.Stderr = os.Stderr
	require.NoError(t, k.cmd.Start())
}

func (k *killable) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait() // it says that it was killed
}

// published is what both keepers have shown to the world.
type published struct {
	key solana.PublicKey

	mu      sync.Mutex
	once    map[string]string
	wrong   []string
	signed  int
	refused map[string]int
}

// record takes a signed record under the name of what may be signed once.
func (p *published) record(t *testing.T, name string, message []byte, content string, sig solana.Signature) {
	require.True(t, sig.Verify(p.key, message), name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signed++
	if old, ok := p.once[name]; ok && old != content {
		p.wrong = append(p.wrong, name)
	}
	p.once[name] = content
}

func (p *published) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[codeOf(err)]++
}

// keeperRun is one keeper in one interleaving: it asks for random things about two periods, and takes the hold when it is
// refused for want of it.
type keeperRun struct {
	c     *Client
	rnd   *rand.Rand
	world *published
	first records.Period // of the interleaving's own
}

func (k *keeperRun) step(t *testing.T) {
	for range k.rnd.IntN(3) {
		runtime.Gosched()
	}
	p := k.first + records.Period(k.rnd.IntN(2))
	err := []func(*testing.T, records.Period) error{k.statement, k.statement, k.batch, k.manifest, k.manifest, k.proposal, k.vote, k.bidSet, k.seal}[k.rnd.IntN(9)](t, p)
	if err == nil {
		return
	}
	k.world.refuse(err)
	if errors.Is(err, ErrHold) || !isCoded(err) { // the latter while the signer is started again
		if err := k.c.Hold(); err != nil {
			k.world.refuse(err)
			time.Sleep(time.Duration(k.rnd.IntN(3)) * time.Millisecond)
		}
	}
}

func isCoded(err error) bool { return codeOf(err) != "failed" }

func (k *keeperRun) sign(t *testing.T, name string, message []byte, content string) error {
	sig, err := k.c.Sign(message)
	if err == nil {
		k.world.record(t, name, message, content, sig)
	}
	return err
}

func (k *keeperRun) any(p records.Period) records.CheckStatement {
	s := aStatement(byte(1+k.rnd.IntN(2)), p, int64(p)*60+int64(k.rnd.IntN(2)), k.rnd.IntN(2) == 0)
	s.CoveredSeconds = uint32(k.rnd.IntN(2))
	return s
}

func nameOf(s records.CheckStatement) string {
	return fmt.Sprint("statement ", s.Node, s.Lease, s.Period, s.Kind, s.CheckedAt)
}

func (k *keeperRun) statement(t *testing.T, p records.Period) error {
	s := k.any(p)
	b := s.Encode()
	return k.sign(t, nameOf(s), b[:], string(b[:]))
}

func (k *keeperRun) batch(t *testing.T, p records.Period) error {
	all := []records.CheckStatement{k.any(p), k.any(p), k.any(p)}
	signed, refused, err := k.c.SignStatements(all)
	for _, x := range signed {
		b := x.Statement.Encode()
		k.world.record(t, nameOf(x.Statement), b[:], string(b[:]), x.Signature)
	}
	for _, r := range refused {
		k.world.refuse(r.Err)
	}
	if err == nil {
		require.Len(t, signed, len(all)-len(refused))
	}
	return err
}

func (k *keeperRun) manifest(t *testing.T, p records.Period) error {
	b := records.Manifest{Domain: testDomain, Period: p, Count: 1, Digest: [32]byte{byte(k.rnd.IntN(3))}}.Encode()
	err := k.sign(t, fmt.Sprint("manifest ", p), b[:], string(b[:]))
	if errors.Is(err, store.ErrOpen) && k.rnd.IntN(2) == 0 {
		err = k.c.Seal(p)
	}
	return err
}

func (k *keeperRun) proposal(t *testing.T, p records.Period) error {
	round := uint32(k.rnd.IntN(2))
	b := records.Proposal{Domain: testDomain, Period: p, Round: round, Root: records.Hash{byte(k.rnd.IntN(3))}}.Encode()
	return k.sign(t, fmt.Sprint("proposal ", p, round), b[:], string(b[:]))
}

func (k *keeperRun) bidSet(t *testing.T, p records.Period) error {
	h := records.BidSetHead{Domain: testDomain, Order: solana.PublicKey{byte(p)}, CloseAt: int64(p), ChosenAt: k.rnd.Int64N(9), Root: records.Hash{byte(k.rnd.IntN(3))}}
	b := h.Encode()
	return k.sign(t, fmt.Sprint("bid set ", p), b[:], fmt.Sprint(h.Count, h.Root))
}

func (k *keeperRun) seal(_ *testing.T, p records.Period) error {
	if k.rnd.IntN(4) > 0 {
		return nil
	}
	return k.c.Seal(p)
}

// vote is the vote of a keeper that has not voted: it votes for what is stored, or stores a root first.
func (k *keeperRun) vote(t *testing.T, p records.Period) error {
	root, err := k.c.Voted(p)
	if errors.Is(err, store.ErrNotFound) {
		root, err = records.Hash{byte(1 + k.rnd.IntN(3))}, nil
		if err := k.c.Vote(p, root, nil); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	i, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: k.world.key, Period: uint64(p), Root: root})
	require.NoError(t, err)
	m := message(t, k.world.key, i)
	sig, err := k.c.Sign(m)
	if err == nil {
		require.True(t, sig.Verify(k.world.key, m))
	}
	return err
}

// interleavings is how many are played.
const interleavings = 1000

// Two keepers share a signer and both work all the time, as if neither knew of the other; the signer is killed again and
// again. Nothing that they have in hand at the end contradicts anything else, and the signer's store knows all of it.
func TestInterleavings(t *testing.T) {
	dir := folder(t)
	s := &killable{dir: dir, key: newKey(t)}
	s.start(t)
	defer func() { s.kill() }()
	world := &published{key: s.key.PublicKey(), once: map[string]string{}, refused: map[string]int{}}
	address := "unix:" + filepath.Join(dir, "signer.sock")
	clients := []*Client{client(t, address, filepath.Join(dir, "one")), client(t, address, filepath.Join(dir, "two"))}
	for _, name := range []string{"one", "two"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	require.Eventually(t, func() bool { return clients[0].Hold() == nil }, 20*time.Second, 10*time.Millisecond)
	kills := 0
	for n := range interleavings {
		killed := make(chan struct{})
		if n%25 == 24 {
			kills++
			go func() {
				defer close(killed)
				time.Sleep(time.Duration(n%7) * time.Millisecond)
				s.kill()
				s.start(t)
			}()
		} else {
			close(killed)
		}
		var both sync.WaitGroup
		for i, c := range clients {
			both.Add(1)
			go func() {
				defer both.Done()
				k := &keeperRun{c: c, rnd: rand.New(rand.NewPCG(uint64(n), uint64(i))), world: world, first: records.Period(firstPeriod + 2*n)}
				for range 8 {
					k.step(t)
				}
			}()
		}
		both.Wait()
		<-killed
	}
	require.Empty(t, world.wrong)
	t.Logf("%d interleavings, %d kills of the signer, %d signatures, refused: %v", interleavings, kills, world.signed, world.refused)
	require.Greater(t, world.signed, 2*interleavings)
	for _, code := range []string{"hold", "conflict", "manifest", "proposal", "bid_set"} {
		require.Greater(t, world.refused[code], interleavings/50, "the interleavings do not come to what they are about: %s", code)
	}
	s.kill()
	p := open(t, filepath.Join(dir, "keeper.db"), s.key)
	defer func() { require.NoError(t, p.Close()) }()
	for name, content := range world.once {
		if st, err := records.DecodeStatement([]byte(content)); err == nil {
			known, err := p.Knows(st)
			require.NoError(t, err)
			require.True(t, known, name)
		}
	}
	s.start(t) // for the deferred kill
}
