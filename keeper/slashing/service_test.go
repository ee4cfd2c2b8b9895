package slashing

import (
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

const (
	secs   = 60
	period = 100
	now    = secs*period + 30
	delay  = 10
)

var (
	domain  = records.Domain{9}
	nodeKey = solana.PrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	self    = solana.PublicKey{1}
	rival   = solana.PublicKey{2}
)

// memoryStore is a Store that survives what kills the keeper.
type memoryStore map[string][]byte

func (s memoryStore) PutProof(name string, proof []byte) error { s[name] = proof; return nil }
func (s memoryStore) DropProof(name string) error              { delete(s, name); return nil }
func (s memoryStore) Proofs() (map[string][]byte, error)       { return s, nil }

// fixture is a market in memory that executes the actions of this package as the program does.
type fixture struct {
	t           require.TestingT
	v           *view.Accounts
	path        string // empty to keep proofs in memory
	now         int64
	store       *store.Store
	memoryStore memoryStore
	service     *Service
	slash       int // of the node
}

func newFixture(t require.TestingT, dir string) *fixture {
	w := &fixture{t: t, v: view.NewAccounts(), now: now, memoryStore: memoryStore{}}
	if dir != "" {
		w.path = filepath.Join(dir, "keeper.db")
	}
	m := &market.Market{Meta: market.Meta{Address: market.MarketAddress()}}
	m.StakeMint, m.Domain = solana.PublicKey{251}, domain
	m.Params = bindings.Params{PeriodSecs: secs, ChallengeSecs: 50}
	w.v.Put(m.Address, m)
	n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{30}}}
	n.NodeKey, n.Provider = nodeKey.PublicKey(), solana.PublicKey{40}
	w.v.Put(n.Address, n)
	for i, wallet := range []solana.PublicKey{self, rival} {
		k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(wallet)}}
		k.Wallet, k.Keeper.Status, k.Index = wallet, uint8(market.KeeperActive), uint16(i)
		w.v.Put(k.Address, k)
	}
	w.open()
	return w
}

// open starts the keeper with what is on disk.
func (w *fixture) open() {
	var kept Store = w.memoryStore
	var err error
	if w.path != "" {
		w.store, err = store.Open(w.path, store.Options{Keeper: self, Domain: domain})
		require.NoError(w.t, err)
		kept = w.store
	}
	w.service, err = New(Options{Store: kept, Self: self, Delay: delay * time.Second, Log: zerolog.Nop()})
	require.NoError(w.t, err)
}

// kill ends the keeper; nothing but the file is left.
func (w *fixture) kill() {
	if w.store != nil {
		require.NoError(w.t, w.store.Close())
	}
}

func (w *fixture) node() *market.Node { return w.v.Nodes[solana.PublicKey{30}] }

func (w *fixture) closeFraudProof(a *market.FraudProof) { w.v.Put(a.Address, nil) }

// slashNode is prove_wrong_cell.
func (w *fixture) slashNode() {
	n := *w.node()
	n.BadWorkPeriod = uint64(w.now) / secs
	w.v.Put(n.Address, &n)
	w.slash++
}

func (w *fixture) due() []crank.Action {
	actions, err := w.service.Due(w.v, w.now)
	require.NoError(w.t, err)
	return actions
}

// execute does what the program would.
func (w *fixture) execute(a crank.Action) {
	last := a.Instructions[len(a.Instructions)-1]
	accounts := last.Accounts()
	address := market.FraudProofAddress(w.node().Address, self)
	switch a.Kind {
	case crank.FraudProofCommitment:
		w.commitTo(self, w.held())
	case crank.FraudProofLeaf:
		w.addLeaf(self, w.held(), 20)
	case crank.ProveWrongCell:
		acc := w.v.FraudProofs[address]
		require.NotNil(w.t, acc)
		require.Greater(w.t, acc.Period, w.node().BadWorkPeriod)
		w.slashNode()
		w.closeFraudProof(acc)
	case crank.FraudProofClose:
		w.closeFraudProof(w.v.FraudProofs[accounts[1].PublicKey])
	case crank.ProveEquivocation:
		k := *w.v.Keepers[rival]
		require.Equal(w.t, k.Address, accounts[2].PublicKey)
		k.Keeper.Status = uint8(market.KeeperSlashed)
		w.v.Put(k.Address, &k)
	default:
		w.t.Errorf("unexpected %s", a.Kind)
	}
}

// held is the proof against the node that is held.
func (w *fixture) held() ix.WrongCell {
	return w.service.held[workName(w.node().Address)].Cell.of(w.node())
}

func kinds(actions []crank.Action) []crank.Kind {
	var out []crank.Kind
	for _, a := range actions {
		out = append(out, a.Kind)
	}
	return out
}

// One transaction takes each action, whatever else comes with it.
func fit(t *testing.T, actions []crank.Action) {
	for _, a := range actions {
		tx, err := txform.Legacy.Build(self, solana.Hash{}, txform.Budget{}, a.Instructions...)
		require.NoError(t, err, a.Kind)
		size, err := txform.Size(tx)
		require.NoError(t, err)
		t.Log(a.Kind, size)
	}
}

func TestAnotherAccusesFirst(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.putModel(1000, 1000)
	require.NoError(t, w.service.WrongCell(w.wrongCell(t, period)))
	first := w.due()[0]
	w.commitTo(rival, w.wrongCell(t, period))
	require.Empty(t, w.due(), "they are left the time")
	w.now += delay - 1
	require.Empty(t, w.due())
	w.now++
	late := w.due()
	require.Equal(t, []crank.Kind{crank.FraudProofCommitment}, kinds(late))
	require.NotEqual(t, first.Key, late[0].Key, "an intent that was given up is not the one that is sent now")
	w.execute(late[0])
	w.slashNode() // by them, after all
	require.Equal(t, []crank.Kind{crank.FraudProofClose}, kinds(w.due()), "the rent comes back")
	w.execute(w.due()[0])
	require.Empty(t, w.due())
	require.Zero(t, w.service.Held())
}

func signed(t require.TestingT, key solana.PrivateKey, passed bool) statement.Signed {
	st := records.CheckStatement{Domain: domain, Node: solana.PublicKey{30}, Period: period, Kind: records.CheckLiveness, Passed: passed, CheckedAt: now}
	sig, err := st.Sign(key)
	require.NoError(t, err)
	return statement.Signed{Keeper: key.PublicKey(), Statement: st, Signature: sig}
}

func TestEquivocationIsProven(t *testing.T) {
	w := newFixture(t, t.TempDir())
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	yes, no := signed(t, key, true), signed(t, key, false)
	_, err = w.service.Statements(yes, yes)
	require.ErrorIs(t, err, ErrNoProof)
	fresh, err := w.service.Statements(yes, no)
	require.NoError(t, err)
	require.True(t, fresh)
	fresh, err = w.service.Statements(no, yes)
	require.NoError(t, err)
	require.False(t, fresh)
	require.True(t, w.service.Against(key.PublicKey()))
	require.Empty(t, w.due(), "no keeper any more: nothing to take")
	require.Zero(t, w.service.Held())

	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(key.PublicKey())}}
	k.Wallet, k.Keeper.Status = key.PublicKey(), uint8(market.KeeperActive)
	w.v.Put(k.Address, k)
	_, err = w.service.Statements(yes, no)
	require.NoError(t, err)
	w.kill()
	w.open()
	actions := w.due()
	require.Equal(t, []crank.Kind{crank.ProveEquivocation}, kinds(actions))
	fit(t, actions)
	k.Keeper.Status = uint8(market.KeeperSlashed)
	require.Empty(t, w.due())
	require.Zero(t, w.service.Held())

	w.kill()
	w.service.o.Self = key.PublicKey()
	_, err = w.service.Statements(yes, no)
	require.ErrorIs(t, err, ErrOwn)
}

// A keeper that says the opposite with the key that its wallet has named since is brought with both keys, for as long
// as it answers for both.
func TestAContradictionAcrossTwoKeysIsProven(t *testing.T) {
	w := newFixture(t, t.TempDir())
	var keys [2]solana.PrivateKey
	for i := range keys {
		key, err := solana.NewRandomPrivateKey()
		require.NoError(t, err)
		keys[i] = key
	}
	wallet := solana.PublicKey{77}
	yes, no := signed(t, keys[0], true), signed(t, keys[1], false)
	yes.Keeper, no.Keeper = wallet, wallet
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(wallet)}}
	k.Wallet, k.Signer, k.FormerSigner, k.SignerUntil = wallet, keys[1].PublicKey(), keys[0].PublicKey(), now+10
	k.Keeper.Status = uint8(market.KeeperActive)
	w.v.Put(k.Address, k)
	fresh, err := w.service.Statements(yes, no)
	require.NoError(t, err)
	require.True(t, fresh)
	actions := w.due()
	require.Equal(t, []crank.Kind{crank.ProveEquivocation}, kinds(actions))
	fit(t, actions)
	for i, key := range keys {
		data, err := actions[0].Instructions[i].Data()
		require.NoError(t, err)
		require.Equal(t, key.PublicKey(), solana.PublicKeyFromBytes(data[16:48]), "each record is checked with its own key")
	}
	k.SignerUntil = now - 10
	_, err = w.service.Due(w.v, now)
	require.Error(t, err, "the former key's record is worth nothing any more")
}

func listed(t require.TestingT, key solana.PrivateKey, p records.Period, raw string) statement.Manifest {
	m, err := statement.NewManifest(statement.Frame{Domain: domain, Period: p, Secs: secs}, []byte(raw), 1, key)
	require.NoError(t, err)
	return m
}

// Two manifests of a period are brought like two statements, however long ago the period was; one proof is enough.
func TestTwoManifests(t *testing.T) {
	w := newFixture(t, t.TempDir())
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	one, other := listed(t, key, 3, "a"), listed(t, key, 3, "b")
	for _, b := range []statement.Manifest{one, listed(t, key, 4, "b"), listed(t, nodeKey, 3, "b")} {
		_, err = w.service.Manifests(domain, one, b)
		require.ErrorIs(t, err, ErrNoProof)
	}
	fresh, err := w.service.Manifests(domain, one, other)
	require.NoError(t, err)
	require.True(t, fresh)
	require.Empty(t, w.due(), "no keeper any more: nothing to take")
	require.Zero(t, w.service.Held())

	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(key.PublicKey())}}
	k.Wallet, k.Keeper.Status = key.PublicKey(), uint8(market.KeeperActive)
	w.v.Put(k.Address, k)
	_, err = w.service.Manifests(domain, other, one)
	require.NoError(t, err)
	fresh, err = w.service.Manifests(domain, one, other)
	require.NoError(t, err)
	require.False(t, fresh)
	fresh, err = w.service.Statements(signed(t, key, true), signed(t, key, false))
	require.NoError(t, err)
	require.False(t, fresh, "one proof is enough")
	w.kill()
	w.open()
	require.True(t, w.service.Against(key.PublicKey()))
	actions := w.due()
	require.Equal(t, []crank.Kind{crank.ProveEquivocation}, kinds(actions))
	fit(t, actions)
	k.Keeper.Status = uint8(market.KeeperSlashed)
	require.Empty(t, w.due(), "by somebody else")
	require.Zero(t, w.service.Held())

	w.service.o.Self = key.PublicKey()
	_, err = w.service.Manifests(domain, one, other)
	require.ErrorIs(t, err, ErrOwn)

	yes := signed(t, key, true).Statement.Encode()
	m := one.Signed(domain).Encode()
	for _, pair := range [][2][]byte{{yes[:], m[:]}, {m[:], yes[:]}, {m[:], m[:63]}, {make([]byte, records.ManifestSize), m[:]}} {
		raw, err := entry{Equivocation: &equivocationProof{Keeper: key.PublicKey(), Records: pair}}.encode()
		require.NoError(t, err)
		_, err = decode(raw)
		require.ErrorIs(t, err, store.ErrCorrupt)
	}
}

func TestDamagedProofsAreNoProofs(t *testing.T) {
	w := newFixture(t, t.TempDir())
	for _, raw := range [][]byte{nil, {0xa0}, []byte("nonsense")} {
		require.NoError(t, w.store.PutProof("work/x", raw))
		_, err := New(w.service.o)
		require.ErrorIs(t, err, store.ErrCorrupt)
	}
}

type full struct{ Store }

func (full) PutProof(string, []byte) error { return errors.New("disk full") }

func TestWhatIsNotOnDiskIsNotHeld(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.service.o.Store = full{w.store}
	require.ErrorContains(t, w.service.WrongCell(w.wrongCell(t, period)), "disk full")
	require.Zero(t, w.service.Held())
}

// Whatever is killed, whoever else begins a proof, proves or gives up: in the end the node was slashed once for what it
// signed until then, no fraud proof of ours is left, and no proof is held.
func TestItEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newFixture(t, "")
		w.putModel(1000, 1000)
		proof := w.wrongCell(t, period)
		require.NoError(t, w.service.WrongCell(proof))
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			theirs := w.v.FraudProofs[market.FraudProofAddress(w.node().Address, rival)]
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				w.kill()
				w.open()
			case 1:
				if theirs == nil && w.node().BadWorkPeriod == 0 {
					w.commitTo(rival, proof)
				}
			case 2:
				if theirs != nil && w.node().BadWorkPeriod == 0 {
					w.slashNode()
					w.closeFraudProof(theirs)
				}
			case 3:
				if theirs != nil {
					w.closeFraudProof(theirs)
				}
			case 4:
				w.now += int64(rapid.IntRange(1, delay).Draw(t, "pause"))
			case 5:
				if actions := w.due(); len(actions) > 0 {
					w.execute(actions[0])
				}
			}
		}
		for range 5 {
			w.now += delay
			for _, a := range w.due() {
				w.execute(a)
			}
		}
		require.Empty(t, w.due())
		require.Equal(t, 1, w.slash)
		require.Zero(t, w.service.Held())
		require.NotContains(t, w.v.FraudProofs, market.FraudProofAddress(w.node().Address, self))
	})
}
