package signing

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

// What contradicts something that was signed is refused, and the same again is signed again.
func TestWhatIsSignedOnce(t *testing.T) {
	p, key := protected(t)
	require.NoError(t, p.Seal(6))
	statement := func(passed bool) []byte { b := aStatement(1, 7, 70, passed).Encode(); return b[:] }
	manifest := func(n byte) []byte {
		b := records.Manifest{Domain: testDomain, Period: 6, Count: 1, Digest: [32]byte{n}}.Encode()
		return b[:]
	}
	proposal := func(root byte, round uint32) []byte {
		b := records.Proposal{Domain: testDomain, Period: 6, Round: round, Root: records.Hash{root}}.Encode()
		return b[:]
	}
	bids := func(root byte, at int64) []byte {
		b := records.BidSetHead{Domain: testDomain, Order: solana.PublicKey{9}, CloseAt: 5, ChosenAt: at, Count: 2, Root: records.Hash{root}}.Encode()
		return b[:]
	}
	for _, c := range []struct {
		name         string
		first, other []byte
		fine         []byte // signed as well
		err          error
	}{
		{"statement", statement(true), statement(false), nil, store.ErrConflict},
		{"manifest", manifest(1), manifest(2), nil, store.ErrManifest},
		{"proposal", proposal(1, 3), proposal(2, 3), proposal(2, 4), store.ErrProposal},
		{"bid set", bids(1, 10), bids(2, 10), bids(1, 11), store.ErrBidSet},
	} {
		signs := func(m []byte) {
			sig, err := p.Sign(m)
			require.NoError(t, err, c.name)
			require.True(t, sig.Verify(key.PublicKey(), m), c.name)
		}
		signs(c.first)
		_, err := p.Sign(c.other)
		require.ErrorIs(t, err, c.err, c.name)
		signs(c.first)
		if c.fine != nil {
			signs(c.fine)
		}
	}
	early := records.Proposal{Domain: testDomain, Period: firstPeriod - 1}.Encode()
	_, err := p.Sign(early[:])
	require.ErrorIs(t, err, store.ErrEarly)
	open := records.Manifest{Domain: testDomain, Period: 7}.Encode()
	_, err = p.Sign(open[:])
	require.ErrorIs(t, err, store.ErrOpen)

	require.NoError(t, p.Freeze("for this test"))
	for _, m := range [][]byte{statement(true), manifest(1), proposal(1, 3), bids(1, 10)} {
		_, err := p.Sign(m)
		require.ErrorIs(t, err, store.ErrFrozen)
	}
}

// What is of another cluster, or is no record of a keeper, is not signed.
func TestWhatIsRefused(t *testing.T) {
	p, _ := protected(t)
	elsewhere := records.Domain{9}
	st := aStatement(1, 7, 70, true)
	st.Domain = elsewhere
	foreign, m := st.Encode(), records.Manifest{Domain: elsewhere, Period: 6}.Encode()
	prop, head := records.Proposal{Domain: elsewhere, Period: 6}.Encode(), records.BidSetHead{Domain: elsewhere}.Encode()
	for name, message := range map[string][]byte{
		"statement": foreign[:], "manifest": m[:], "proposal": prop[:], "bid set": head[:],
		"nothing": nil, "text": []byte("please sign"), "short record": []byte(records.TagManifest),
		"envelope of another kind": append([]byte{6}, "other!payload"...),
	} {
		_, err := p.Sign(message)
		require.ErrorIs(t, err, ErrRefused, name)
	}
	for _, x := range records.AllTagged {
		message := append([]byte(x.Tag), make([]byte, 400)...)
		if x.Size > 0 {
			message = message[:x.Size]
		}
		copy(message[8:], testDomain[:])
		_, err := p.Sign(message)
		switch {
		case x.Signer != "keeper":
			require.ErrorIs(t, err, ErrRefused, x.Name)
		case x.Tag == records.TagStatement:
			require.ErrorIs(t, err, ErrRefused, "a statement of zeroes is none")
		default: // a period of zero is one before the store's first
			require.NotErrorIs(t, err, ErrRefused, x.Name)
		}
	}
}

// What libp2p signs is let through, and is never a transaction or a record.
func TestIdentity(t *testing.T) {
	p, key := protected(t)
	for _, prefix := range []string{"noise-libp2p-static-key:", "libp2p-tls-handshake:", "libp2p-pubsub:", "\x12libp2p-peer-record", "\x11libp2p-relay-rsvp"} {
		m := []byte(prefix + "payload")
		sig, err := p.Sign(m)
		require.NoError(t, err, prefix)
		require.True(t, sig.Verify(key.PublicKey(), m))
		// As a transaction it would have more signers than a transaction has room for.
		require.Greater(t, int(m[0])*64+int(m[0])*32, 1232, prefix)
		require.Less(t, m[0], byte(0x80), prefix)
	}
}

func message(t *testing.T, payer solana.PublicKey, ixs ...solana.Instruction) []byte {
	tx, err := solana.NewTransaction(ixs, solana.Hash{1}, solana.TransactionPayer(payer))
	require.NoError(t, err)
	raw, err := tx.Message.MarshalBinary()
	require.NoError(t, err)
	return raw
}

func TestTransactions(t *testing.T) {
	p, key := protected(t)
	me, other := key.PublicKey(), newKey(t).PublicKey()
	must := func(i solana.Instruction, err error) solana.Instruction {
		require.NoError(t, err)
		return i
	}
	vote := func(period uint64, root byte) solana.Instruction {
		return must(ix.ReportVote(ix.ReportVoteArgs{Keeper: me, Period: period, Root: [32]byte{root}}))
	}
	require.NoError(t, p.Vote(8, records.Hash{1}, nil))
	budget := solana.NewInstruction(solana.ComputeBudget, nil, []byte{2, 0, 0, 0, 0})
	update := must(ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: me, Multiaddr: "/ip4/127.0.0.1/tcp/1"}))
	account := ix.CreateTokenAccount(me, me, solana.PublicKey{4})
	good := message(t, me, vote(8, 1), budget)
	for name, m := range map[string][]byte{"vote": good, "update": message(t, me, update, budget), "token account": message(t, me, account, budget)} {
		sig, err := p.Sign(m)
		require.NoError(t, err, name)
		require.True(t, sig.Verify(me, m))
	}
	transfer := system.NewTransferInstruction(1, me, other).Build()
	withdraw := must(ix.KeeperWithdraw(ix.WithdrawStakeArgs{Wallet: me, StakeMint: solana.PublicKey{3}}))
	v0, err := solana.NewTransaction([]solana.Instruction{budget}, solana.Hash{1}, solana.TransactionPayer(me))
	require.NoError(t, err)
	_, err = v0.Message.SetVersion(solana.MessageVersionV0)
	require.NoError(t, err)
	versioned, err := v0.Message.MarshalBinary()
	require.NoError(t, err)
	for name, m := range map[string][]byte{
		"vote for another root": message(t, me, vote(8, 2)), "vote that is not stored": message(t, me, vote(9, 1)),
		"two votes, one of them not stored": message(t, me, vote(8, 1), vote(9, 1)),
		"transfer":                          message(t, me, transfer, budget), "transfer behind a vote": message(t, me, vote(8, 1), transfer),
		"withdrawal of the bond": message(t, me, withdraw), "exit": message(t, me, must(ix.KeeperRequestExit(me))),
		"another payer": message(t, other, update), "payer of another": message(t, other, budget),
		"bytes behind it": append(bytes.Clone(good), 0), "cut": good[:len(good)-1], "another version": versioned,
		"unknown instruction":                    message(t, me, solana.NewInstruction(market.ProgramID, nil, []byte{1, 2, 3, 4, 5, 6, 7, 8})),
		"short instruction":                      message(t, me, solana.NewInstruction(market.ProgramID, nil, []byte{1})),
		"unknown program":                        message(t, me, solana.NewInstruction(other, nil, nil)),
		"other use of the token account program": message(t, me, solana.NewInstruction(solana.SPLAssociatedTokenAccountProgramID, nil, []byte{2})),
	} {
		_, err := p.Sign(m)
		require.ErrorIs(t, err, ErrRefused, name)
	}
	// A vote that moves is stored before it is signed, and the former one is not signed any more.
	require.NoError(t, p.Vote(8, records.Hash{2}, nil))
	_, err = p.Sign(message(t, me, vote(8, 2)))
	require.NoError(t, err)
	_, err = p.Sign(good)
	require.ErrorIs(t, err, ErrRefused)
	require.NoError(t, p.Freeze("for this test"))
	_, err = p.Sign(message(t, me, vote(8, 2)))
	require.ErrorIs(t, err, store.ErrFrozen)
	_, err = p.Sign(message(t, me, update))
	require.NoError(t, err, "what is no promise goes on")
	for _, name := range Transactions {
		require.False(t, strings.HasPrefix(name, "provider_") || strings.HasPrefix(name, "credits_") || strings.HasPrefix(name, "market_"), name)
	}
}

// One of version 1 is held against the rules of the others, and nothing in it is hidden from them.
func TestTransactionsOfVersionOne(t *testing.T) {
	p, key := protected(t)
	me, other := key.PublicKey(), newKey(t).PublicKey()
	must := func(i solana.Instruction, err error) solana.Instruction {
		require.NoError(t, err)
		return i
	}
	one := func(change func(*solana.Message), ixs ...solana.Instruction) []byte {
		tx, err := txform.VersionOne.Build(me, solana.Hash{1}, txform.Budget{Units: 9}, ixs...)
		require.NoError(t, err)
		if change != nil {
			change(&tx.Message)
		}
		raw, err := tx.Message.MarshalBinary()
		require.NoError(t, err)
		return raw
	}
	leaf := func(n byte) solana.Instruction {
		return must(ix.ReportApply(ix.LeafProof{Leaf: records.Leaf{Node: solana.PublicKey{n}, Period: 8}, Siblings: make([]records.Hash, 16)}))
	}
	require.NoError(t, p.Vote(8, records.Hash{1}, nil))
	vote := func(root byte) solana.Instruction {
		return must(ix.ReportVote(ix.ReportVoteArgs{Keeper: me, Period: 8, Root: [32]byte{root}}))
	}
	for name, m := range map[string][]byte{"vote": one(nil, vote(1)), "leaves": one(nil, leaf(1), leaf(2), leaf(3), leaf(4))} {
		sig, err := p.Sign(m)
		require.NoError(t, err, name)
		require.True(t, sig.Verify(me, m), name)
	}

	good := one(nil, leaf(1))
	transfer := system.NewTransferInstruction(1, me, other).Build()
	masked := func(mask byte, values int) []byte { // the mask is behind version and head
		m := bytes.Clone(good)
		m[4] = mask
		behind := 42 + 32*int(m[41]) + 16 // the config values
		return slices.Insert(m, behind, make([]byte, values)...)
	}
	// The transfer's head and payload stand behind the end of the instructions that the message counts.
	behind := func() []byte {
		m := one(nil, leaf(1), transfer)
		m[40]--
		return m
	}()
	for name, m := range map[string][]byte{
		"transfer": one(nil, transfer), "transfer behind a leaf": one(nil, leaf(1), transfer), "transfer before it": one(nil, transfer, leaf(1)),
		"vote for another root": one(nil, vote(1), vote(2)), "withdrawal of the bond": one(nil, must(ix.KeeperWithdraw(ix.WithdrawStakeArgs{Wallet: me, StakeMint: solana.PublicKey{3}}))),
		"transfer that is not counted": behind,
		"bytes behind it":              append(bytes.Clone(good), 0), "a whole message behind it": append(bytes.Clone(good), one(nil, transfer)...),
		"cut": good[:len(good)-1], "value that nobody knows": masked(0b101111, 4), "half a priority fee": masked(0b1101, 0),
		"of a later version":        append([]byte{0x82}, good[1:]...),
		"as the version before":     append([]byte{0x80}, good[1:]...),
		"another payer":             one(func(m *solana.Message) { m.AccountKeys[0] = other }, leaf(1)),
		"another signer besides":    one(func(m *solana.Message) { m.Header.NumRequiredSignatures = 2 }, leaf(1)),
		"program that is not there": one(func(m *solana.Message) { m.Instructions[0].ProgramIDIndex = uint16(len(m.AccountKeys)) }, leaf(1)),
		"an address twice":          one(func(m *solana.Message) { m.AccountKeys[1] = m.AccountKeys[2] }, leaf(1)),
		"more than 4,096 bytes": one(func(m *solana.Message) {
			m.Instructions[0].Data = append(m.Instructions[0].Data, make([]byte, 4096)...)
		}, leaf(1)),
	} {
		_, err := p.Sign(m)
		require.ErrorIs(t, err, ErrRefused, name)
	}
}
