package dispute

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	secs    = 60
	started = 6_000
	opened  = started + 600
)

// fixture is a keeper and a lease that its customer disputes after ten minutes.
type fixture struct {
	*view.Accounts
	service   *Service
	store     *signing.Protected
	key       solana.PrivateKey
	signer    records.Signer
	lease     *market.Lease
	dispute   *market.Dispute
	complaint []byte
	published int
}

func (f *fixture) Read(use func(*view.Accounts)) { use(f.Accounts) }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	signer, err := records.NewSigner(key)
	require.NoError(t, err)
	domain := records.Domain{7}
	f := &fixture{Accounts: view.NewAccounts(), key: key, signer: signer, complaint: []byte("nothing ran")}
	db, err := store.Open(t.TempDir()+"/keeper.db", store.Options{Keeper: key.PublicKey(), Domain: domain})
	require.NoError(t, err)
	f.store = signing.New(db, signer, domain)
	t.Cleanup(func() { require.NoError(t, f.store.Close()) })
	complaints, err := OpenComplaints(t.TempDir()+"/complaints", f)
	require.NoError(t, err)
	f.service, err = New(Options{
		Store: f.store, Complaints: complaints, Self: key.PublicKey(), Domain: domain, Secs: secs,
		Publish: func(all []statement.Signed) { f.published += len(all) },
		Now:     func() time.Time { return time.Unix(opened+100, 0) },
	})
	require.NoError(t, err)

	m := &market.Market{}
	m.Params.MigrationGraceSecs, m.Params.PeriodSecs = 20, secs
	f.Market = m
	k := &market.Keeper{}
	k.Wallet, k.Status, k.ActiveSince, k.Index = key.PublicKey(), uint8(market.KeeperActive), started, 3
	f.Keepers[k.Wallet] = k
	f.lease = &market.Lease{Meta: market.Meta{Address: solana.PublicKey{10}}}
	f.lease.Lease.Node, f.lease.StartedAt, f.lease.Disputed = solana.PublicKey{30}, started, 1
	f.Leases[f.lease.Address] = f.lease
	f.dispute = &market.Dispute{Meta: market.Meta{Address: market.DisputeAddress(f.lease.Address)}}
	f.dispute.Dispute.Lease, f.dispute.Kind = f.lease.Address, uint8(market.DisputeNotDelivered)
	f.dispute.OpenedAt, f.dispute.ClosesAt, f.dispute.EvidenceHash = opened, opened+300, sha256.Sum256(f.complaint)
	f.Disputes[f.dispute.Address] = f.dispute
	return f
}

// saw has the keeper sign what it saw of the lease in the ten periods before the dispute, and in one after it.
func (f *fixture) saw(t *testing.T, passed bool) {
	t.Helper()
	var all []records.CheckStatement
	for p := records.Period(started / secs); p <= opened/secs; p++ {
		all = append(all, records.CheckStatement{
			Domain: records.Domain{7}, Node: f.lease.Lease.Node, Lease: f.lease.Address, Period: p, Kind: records.CheckLiveness, Passed: passed,
			CheckedAt: int64(p+1) * secs, CoveredSeconds: secs,
		})
	}
	_, refused, err := f.store.SignStatements(all)
	require.NoError(t, err)
	require.Empty(t, refused)
}

func (f *fixture) due(t *testing.T) []crank.Action {
	t.Helper()
	actions, err := f.service.Due(f.Accounts, opened+50)
	require.NoError(t, err)
	return actions
}

// It holds finding R 15.
func TestAKeeperVotesByWhatItSigned(t *testing.T) {
	f := newFixture(t)
	require.Empty(t, f.due(t), "it has seen nothing")
	f.saw(t, true)
	actions := f.due(t)
	require.Len(t, actions, 1)
	require.Equal(t, crank.DisputeVote, actions[0].Kind)
	require.True(t, actions[0].Mine)
	data, err := actions[0].Instructions[0].Data()
	require.NoError(t, err)
	require.Equal(t, append(bindings.Instruction_DisputeVote[:], 0), data, "it rejects")
	f.dispute.RejectedVoters[0] = 1 << 3
	require.Empty(t, f.due(t), "a keeper votes once")
}

// It holds finding R 15.
func TestAKeeperUpholdsOnlyWhatItCanRead(t *testing.T) {
	f := newFixture(t)
	f.saw(t, false)
	require.Empty(t, f.due(t))
	c := f.service.o.Complaints
	require.ErrorIs(t, c.Put(f.lease.Address, []byte("another text")), errNotIt)
	require.ErrorIs(t, c.Put(solana.PublicKey{11}, f.complaint), errNoDispute)
	require.ErrorIs(t, c.Put(f.lease.Address, make([]byte, messages.MaxComplaint+1)), errNotIt)
	require.NoError(t, c.Put(f.lease.Address, f.complaint))
	actions := f.due(t)
	require.Len(t, actions, 1)
	data, err := actions[0].Instructions[0].Data()
	require.NoError(t, err)
	require.Equal(t, append(bindings.Instruction_DisputeVote[:], 1), data, "it upholds")
	raw, ok := c.Get(f.lease.Address, f.dispute.EvidenceHash)
	require.True(t, ok)
	require.Equal(t, f.complaint, raw)
	delete(f.Leases, f.lease.Address)
	require.NoError(t, c.Prune())
	_, ok = c.Get(f.lease.Address, f.dispute.EvidenceHash)
	require.False(t, ok, "a closed lease's complaint is dropped")
}

// It holds finding R 15.
func TestAKeeperAppealsAgainstWhatItSawServed(t *testing.T) {
	f := newFixture(t)
	delete(f.Disputes, f.dispute.Address)
	fault := &market.Fault{Meta: market.Meta{Address: market.DisputeFaultAddress(f.lease.Address)}}
	fault.Fault.Node, fault.Fault.Lease, fault.Kind = f.lease.Lease.Node, f.lease.Address, market.FaultDispute
	fault.DisputeKind, fault.VotersBefore, fault.ApplicableAt = uint8(market.DisputeNotDelivered), opened, opened+300
	f.Faults[fault.Address] = fault
	require.Empty(t, f.due(t))
	f.saw(t, true)
	actions := f.due(t)
	require.Len(t, actions, 1)
	require.Equal(t, crank.SlashAppeal, actions[0].Kind)
	require.Len(t, actions[0].Instructions, 2)
	again := f.due(t)
	require.Equal(t, actions, again, "it signs one statement, however often it tries")
	require.Equal(t, 1, f.published)
	kept, err := f.store.StatementsAbout((opened+100)/secs, f.lease.Lease.Node)
	require.NoError(t, err)
	require.Equal(t, records.CheckOutput, kept[len(kept)-1].Statement.Kind)
	require.GreaterOrEqual(t, kept[len(kept)-1].Statement.CheckedAt, fault.VotersBefore)

	f.Keepers[f.key.PublicKey()].ActiveSince = opened
	require.Empty(t, f.due(t), "it could not vote on the dispute")
	f.Keepers[f.key.PublicKey()].ActiveSince = started
	fault.Appellants[0] = 1 << 3
	require.Empty(t, f.due(t), "its statement is counted")
	fault.Appellants[0], fault.Kind = 0, market.FaultReport
	require.Empty(t, f.due(t), "a report's fault is no matter of disputes")
}
