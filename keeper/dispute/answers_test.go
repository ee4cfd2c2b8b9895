package dispute

import (
	"bytes"
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// answered is a disputed lease with the keys that may answer, and a keeper's folder.
type answered struct {
	*fixture
	node, wallet solana.PrivateKey
	answers      *Answers
}

func newAnswered(t *testing.T) *answered {
	f := &answered{fixture: newFixture(t), node: solana.NewWallet().PrivateKey, wallet: solana.NewWallet().PrivateKey}
	p := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{40}}}
	p.Wallet = f.wallet.PublicKey()
	f.Providers[p.Address] = p
	f.lease.Lease.Provider, f.lease.NodeKey = p.Address, f.node.PublicKey()
	f.answers = f.open(t)
	return f
}

func (f *answered) open(t *testing.T) *Answers {
	o := AnswerOptions{Dir: t.TempDir(), View: f, Domain: records.Domain{7}, Now: func() time.Time { return time.Unix(opened+100, 0) }}
	options.Without(o, []string{"Log"}, func(field string, o AnswerOptions) {
		_, err := OpenAnswers(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	a, err := OpenAnswers(o)
	require.NoError(t, err)
	return a
}

func (f *answered) write(t *testing.T, key solana.PrivateKey, text string, at int64) messages.AnswerUpload {
	signer, err := records.NewSigner(key)
	require.NoError(t, err)
	m := messages.AnswerUpload{Version: messages.Version, Lease: f.lease.Address, OpenedAt: opened, WrittenAt: at, Data: []byte(text), Key: key.PublicKey()}
	r := records.Answer{Domain: records.Domain{7}, Lease: m.Lease, OpenedAt: m.OpenedAt, WrittenAt: m.WrittenAt, Text: sha256.Sum256(m.Data)}
	m.Signature, err = r.Sign(signer)
	require.NoError(t, err)
	return m
}

func TestOnlyTheAccusedAnswers(t *testing.T) {
	f := newAnswered(t)
	require.NoError(t, f.answers.Put(f.write(t, f.node, "it ran", opened+10)))
	got, ok := f.answers.Get(f.lease.Address)
	require.True(t, ok)
	require.Equal(t, "it ran", string(got.Data))
	require.NoError(t, f.answers.Put(f.write(t, f.wallet, "it ran for ten minutes", opened+20)), "the wallet may as well")
	require.NoError(t, f.answers.Put(f.write(t, f.node, "older", opened+15)))
	got, _ = f.answers.Get(f.lease.Address)
	require.Equal(t, "it ran for ten minutes", string(got.Data), "the newest counts")

	require.ErrorIs(t, f.answers.Put(f.write(t, solana.NewWallet().PrivateKey, "no", opened+30)), errAnswerSigner)
	forged := f.write(t, f.node, "it ran", opened+30)
	forged.Data = []byte("it did not run")
	require.ErrorIs(t, f.answers.Put(forged), errAnswerSigner)
	require.ErrorIs(t, f.answers.Put(f.write(t, f.node, "", opened+30)), errAnswerSize)
	require.ErrorIs(t, f.answers.Put(f.write(t, f.node, string(bytes.Repeat([]byte{'a'}, messages.MaxAnswer+1)), opened+30)), errAnswerSize)
	require.ErrorIs(t, f.answers.Put(f.write(t, f.node, "later", opened+161)), errAnswerTime)
	require.NoError(t, f.answers.Put(f.write(t, f.node, string(bytes.Repeat([]byte{'a'}, messages.MaxAnswer)), opened+40)))

	// An answer to an earlier dispute at the same address is none to this one.
	f.dispute.OpenedAt++
	_, ok = f.answers.Get(f.lease.Address)
	require.False(t, ok)
	require.ErrorIs(t, f.answers.Put(f.write(t, f.node, "it ran", opened+50)), errNoDispute)
	delete(f.Disputes, f.dispute.Address)
	require.NoError(t, f.answers.Prune())
	left, err := os.ReadDir(f.answers.o.Dir)
	require.NoError(t, err)
	require.Empty(t, left, "a dispute that is over has no answer")
}

// A keeper takes an answer over the network from anybody who brings it, and another keeper gets it from there.
func TestAnswersReachAllKeepers(t *testing.T) {
	f := newAnswered(t)
	network := func(key solana.PrivateKey) *p2p.Node {
		n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		return n
	}
	first, second, stranger := network(f.key), network(solana.NewWallet().PrivateKey), network(solana.NewWallet().PrivateKey)
	other := f.open(t)
	f.answers.Join(first)
	other.Join(second)
	for _, n := range []*p2p.Node{second, stranger} {
		require.NoError(t, n.Remember(p2p.Peer{Key: first.Key(), Addrs: first.Addrs()}))
	}
	call := func(m messages.AnswerUpload) error {
		_, err := p2p.Call[messages.AnswerUpload, messages.Answer](t.Context(), stranger, first.Key(), PutAnswerProtocol, m)
		return err
	}
	require.True(t, p2p.IsCode(call(f.write(t, solana.NewWallet().PrivateKey, "no", opened+1)), p2p.CodeRefused))
	require.NoError(t, other.fetch(t.Context(), second, first.Key(), f.lease.Address), "there is none yet")
	require.NoError(t, call(f.write(t, f.node, "it ran", opened+1)))
	require.NoError(t, other.fetch(t.Context(), second, first.Key(), f.lease.Address))
	got, ok := other.Get(f.lease.Address)
	require.True(t, ok)
	require.Equal(t, "it ran", string(got.Data))
	require.NoError(t, other.fetch(t.Context(), second, first.Key(), f.lease.Address), "nothing newer")
}
