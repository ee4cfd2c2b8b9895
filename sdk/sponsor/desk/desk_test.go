package desk

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sponsor"
)

const (
	rentOf100  = 1_586_880 // lamports that an account of 100 bytes needs
	fee        = 2*5_000 + 100
	units      = 100_000
	unitPrice  = 1_000
	callerMost = 4_000_000
)

// bench is a desk on a chain whose simulations a test decides.
type bench struct {
	t      *testing.T
	desk   *Desk
	book   *Book
	path   string // of the book
	key    solana.PrivateKey
	wallet solana.PrivateKey
	opened solana.PublicKey // the account that the market's instruction makes
	now    time.Time

	// Before and after are the accounts, by key; a nil one does not exist.
	before, after map[solana.PublicKey]*chain.AccountAfter
	err           json.RawMessage
	down          error
}

func newBench(t *testing.T) *bench {
	b := &bench{
		t: t, key: newKey(t), wallet: newKey(t), opened: newKey(t).PublicKey(), now: time.Date(2027, 3, 1, 23, 0, 0, 0, time.UTC),
		before: map[solana.PublicKey]*chain.AccountAfter{}, after: map[solana.PublicKey]*chain.AccountAfter{},
	}
	b.path = filepath.Join(t.TempDir(), "book.db")
	var err error
	b.book, err = OpenBook(b.path, b.key.PublicKey())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.book.Close() })
	b.begin()
	b.before[b.key.PublicKey()] = &chain.AccountAfter{Lamports: 1_000_000_000}
	b.after[b.key.PublicKey()] = &chain.AccountAfter{Lamports: 1_000_000_000 - rentOf100 - fee}
	b.after[b.opened] = &chain.AccountAfter{Lamports: rentOf100, Owner: market.ProgramID, Space: 100}
	return b
}

// begin starts a desk on the bench's book.
func (b *bench) begin() {
	b.desk = New(Options{Key: b.key, Chain: b, Book: b.book, Limits: Limits{Caller: callerMost, Total: 2 * callerMost}, MaxFee: 50_000, Now: func() time.Time { return b.now }})
}

func newKey(t *testing.T) solana.PrivateKey {
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func (b *bench) Accounts(_ context.Context, keys []solana.PublicKey, _ chain.Commitment) ([]*chain.Account, error) {
	out := make([]*chain.Account, len(keys))
	for i, k := range keys {
		if a := b.before[k]; a != nil {
			out[i] = &chain.Account{Key: k, Owner: a.Owner, Lamports: a.Lamports}
		}
	}
	return out, b.down
}

func (b *bench) Simulate(_ context.Context, _ *solana.Transaction, o chain.SimulateOptions) (chain.Simulation, error) {
	s := chain.Simulation{Err: b.err}
	for _, k := range o.Accounts {
		s.Accounts = append(s.Accounts, b.after[k])
	}
	return s, nil
}

func (b *bench) MinimumRent(_ context.Context, size uint64, _ chain.Commitment) (chain.Lamports, error) {
	return chain.Lamports(128+size) * 6_960, nil
}

func meta(k solana.PublicKey, writable, signer bool) *solana.AccountMeta {
	return solana.NewAccountMeta(k, writable, signer)
}

func budget(tag byte, value uint64, bytes int) solana.Instruction {
	return solana.NewInstruction(solana.ComputeBudget, nil, append([]byte{tag}, binary.LittleEndian.AppendUint64(nil, value)[:bytes]...))
}

// call is an instruction of the market with which the wallet makes an account.
func (b *bench) call(more ...*solana.AccountMeta) solana.Instruction {
	return solana.NewInstruction(market.ProgramID, append(solana.AccountMetaSlice{meta(b.wallet.PublicKey(), true, true), meta(b.opened, true, false)}, more...), []byte("deposits"))
}

func (b *bench) send(amount uint64) solana.Instruction {
	return system.NewTransferInstruction(amount, b.key.PublicKey(), b.wallet.PublicKey()).Build()
}

// system is an instruction of the system program with the accounts of a transfer.
func (b *bench) system(data []byte) solana.Instruction {
	return solana.NewInstruction(solana.SystemProgramID, solana.AccountMetaSlice{meta(b.key.PublicKey(), true, true), meta(b.wallet.PublicKey(), true, true)}, data)
}

// good is a transaction that is signed: the sponsor sends rent, and the market's instruction takes it.
func (b *bench) good() []solana.Instruction {
	return []solana.Instruction{b.send(rentOf100), b.call(), budget(budgetUnits, units, 4), budget(budgetPrice, unitPrice, 8)}
}

// raw is a transaction without signatures.
func (b *bench) raw(payer solana.PublicKey, all ...solana.Instruction) []byte {
	tx, err := solana.NewTransaction(all, solana.Hash{1}, solana.TransactionPayer(payer))
	require.NoError(b.t, err)
	tx.Signatures = make([]solana.Signature, tx.Message.Header.NumRequiredSignatures)
	raw, err := tx.MarshalBinary()
	require.NoError(b.t, err)
	return raw
}

func (b *bench) sign(raw []byte) ([]byte, error) {
	return b.desk.Sign(b.t.Context(), Caller{Name: "ana"}, raw)
}

// A transaction is signed as it is, and counted with its fee and its rent.
func TestWhatIsSigned(t *testing.T) {
	b := newBench(t)
	raw := b.raw(b.key.PublicKey(), b.good()...)
	out, err := b.sign(raw)
	require.NoError(t, err)
	tx, err := solana.TransactionFromBytes(out)
	require.NoError(t, err)
	require.Equal(t, raw[1+2*64:], out[1+2*64:], "the same message")
	require.True(t, tx.Signatures[0].Verify(b.key.PublicKey(), raw[1+2*64:]))
	require.True(t, tx.Signatures[1].IsZero(), "the customer's signature is the customer's matter")
	spent, err := b.book.Spent(b.now, "ana")
	require.NoError(t, err)
	require.EqualValues(t, rentOf100+fee, spent)
	// A signature that is there already stays.
	copy(raw[1+64:], out[1:1+64])
	out, err = b.sign(raw)
	require.NoError(t, err)
	require.Equal(t, raw[1+64:1+128], out[1+64:1+128])
	// A payment of tokens is paid for, without rent.
	b.after[b.key.PublicKey()].Lamports = 1_000_000_000 - 2*5_000
	pay := solana.NewInstruction(solana.TokenProgramID, solana.AccountMetaSlice{meta(newKey(t).PublicKey(), true, false), meta(b.wallet.PublicKey(), false, true)}, []byte{3})
	_, err = b.sign(b.raw(b.key.PublicKey(), pay))
	require.NoError(t, err)
}

// Each rule refuses what it is about: the same transaction without that one thing is signed.
func TestEachRuleRefuses(t *testing.T) {
	other := newKey(t)
	version := func(b *bench, v solana.MessageVersion, tables bool) []byte {
		tx, err := solana.NewTransaction(b.good(), solana.Hash{1}, solana.TransactionPayer(b.key.PublicKey()))
		require.NoError(t, err)
		tx.Message.SetVersion(v)
		if tables {
			tx.Message.AddressTableLookups = solana.MessageAddressTableLookupSlice{{AccountKey: other.PublicKey(), ReadonlyIndexes: []uint8{0}}}
		}
		tx.Signatures = make([]solana.Signature, 2)
		m, err := tx.Message.MarshalBinary()
		require.NoError(t, err)
		return append(append([]byte{2}, make([]byte, 128)...), m...)
	}
	for _, c := range []struct {
		name, rule string
		change     func(b *bench, all []solana.Instruction) []solana.Instruction // of the good transaction
		raw        func(b *bench) []byte                                         // in place of it
		world      func(b *bench)                                                // what the simulation shows
	}{
		{name: "no transaction", rule: RuleForm, raw: func(*bench) []byte { return []byte("hello") }},
		{name: "nothing", rule: RuleForm, raw: func(*bench) []byte { return nil }},
		{name: "more behind it", rule: RuleForm, raw: func(b *bench) []byte { return append(b.raw(b.key.PublicKey(), b.good()...), 0) }},
		{name: "a place for another signature", rule: RuleForm, raw: func(b *bench) []byte {
			raw := b.raw(b.key.PublicKey(), b.good()...)
			return append(append([]byte{3}, make([]byte, 64)...), raw[1:]...)
		}},
		{name: "a lookup table", rule: RuleForm, raw: func(b *bench) []byte { return version(b, solana.MessageVersionV0, true) }},
		{name: "another payer", rule: RulePayer, raw: func(b *bench) []byte { return b.raw(b.wallet.PublicKey(), b.call()) }},
		{name: "the sponsor's key signs, and another pays", rule: RulePayer, raw: func(b *bench) []byte { return b.raw(b.wallet.PublicKey(), b.good()...) }},
		{name: "nobody else signs", rule: RulePayer, raw: func(b *bench) []byte {
			return b.raw(b.key.PublicKey(), solana.NewInstruction(market.ProgramID, solana.AccountMetaSlice{meta(b.opened, true, false)}, []byte("crank")))
		}},
		{name: "another program", rule: RulePrograms, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, solana.NewInstruction(other.PublicKey(), solana.AccountMetaSlice{meta(b.wallet.PublicKey(), true, true)}, []byte{1}))
		}},
		{name: "the upgradeable loader", rule: RulePrograms, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, solana.NewInstruction(solana.BPFLoaderUpgradeableProgramID, nil, []byte{1}))
		}},
		{name: "nothing of the market", rule: RulePrograms, raw: func(b *bench) []byte {
			create := solana.NewInstruction(solana.SPLAssociatedTokenAccountProgramID, solana.AccountMetaSlice{meta(b.wallet.PublicKey(), true, true)}, []byte{1})
			return b.raw(b.key.PublicKey(), create)
		}},
		{name: "the sponsor as an account of the market", rule: RuleKey, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, b.call(meta(b.key.PublicKey(), true, true)))
		}},
		{name: "the sponsor's key, only read", rule: RuleKey, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, b.call(meta(b.key.PublicKey(), false, false)))
		}},
		{name: "the sponsor pays for a token account", rule: RuleKey, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, solana.NewInstruction(solana.SPLAssociatedTokenAccountProgramID, solana.AccountMetaSlice{meta(b.key.PublicKey(), true, true)}, []byte{1}))
		}},
		{name: "two transfers", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append([]solana.Instruction{b.send(1)}, all...)
		}},
		{name: "a transfer to somebody who does not sign", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = system.NewTransferInstruction(rentOf100, b.key.PublicKey(), other.PublicKey()).Build()
			return all
		}},
		{name: "a transfer to itself", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = system.NewTransferInstruction(rentOf100, b.key.PublicKey(), b.key.PublicKey()).Build()
			return all
		}},
		{name: "a transfer of nothing", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = b.send(0)
			return all
		}},
		{name: "the customer's own transfer", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, system.NewTransferInstruction(1, b.wallet.PublicKey(), other.PublicKey()).Build())
		}},
		{name: "the wallet's transfer to itself in place of the sponsor's", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = system.NewTransferInstruction(rentOf100, b.wallet.PublicKey(), b.wallet.PublicKey()).Build()
			return all
		}},
		{name: "a transfer with more behind it", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = b.system(append(binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, rentOf100), 0))
			return all
		}},
		{name: "space for the sponsor's account, in the form of a transfer", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = b.system(binary.LittleEndian.AppendUint64([]byte{8, 0, 0, 0}, rentOf100))
			return all
		}},
		{name: "another instruction of the system program", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, system.NewAssignInstruction(other.PublicKey(), b.key.PublicKey()).Build())
		}},
		{name: "a nonce, which would not end", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			return append([]solana.Instruction{system.NewAdvanceNonceAccountInstruction(other.PublicKey(), solana.SysVarRecentBlockHashesPubkey, b.wallet.PublicKey()).Build()}, all...)
		}},
		{name: "a transfer beside a payment of tokens", rule: RuleTransfer, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[1] = solana.NewInstruction(solana.TokenProgramID, solana.AccountMetaSlice{meta(b.opened, true, false), meta(b.wallet.PublicKey(), true, true)}, []byte{3})
			return all
		}},
		{name: "a high price", rule: RuleFee, change: func(_ *bench, all []solana.Instruction) []solana.Instruction {
			all[3] = budget(budgetPrice, 1_000_000, 8)
			return all
		}},
		{name: "a price beyond all numbers", rule: RuleFee, change: func(_ *bench, all []solana.Instruction) []solana.Instruction {
			all[3] = budget(budgetPrice, math.MaxUint64, 8)
			return all
		}},
		{name: "a price without a bound", rule: RuleFee, change: func(_ *bench, all []solana.Instruction) []solana.Instruction { return append(all[:2:2], all[3]) }},
		{name: "two prices", rule: RuleFee, change: func(_ *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, budget(budgetPrice, 1, 8))
		}},
		{name: "an unknown bound", rule: RuleFee, change: func(_ *bench, all []solana.Instruction) []solana.Instruction {
			return append(all, budget(0, 1, 8))
		}},
		{name: "it fails", rule: RuleRuns, world: func(b *bench) { b.err = json.RawMessage(`{"InstructionError":[1,{"Custom":6001}]}`) }},
		{name: "it takes more from the sponsor", rule: RuleCost, world: func(b *bench) { b.after[b.key.PublicKey()].Lamports-- }},
		{name: "it takes all from the sponsor", rule: RuleCost, world: func(b *bench) { b.after[b.key.PublicKey()] = nil }},
		{name: "a lamport more than the rent", rule: RuleRent, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = b.send(rentOf100 + 1)
			return all
		}, world: func(b *bench) { b.after[b.key.PublicKey()].Lamports-- }},
		{name: "the account was there", rule: RuleRent, world: func(b *bench) { b.before[b.opened] = b.after[b.opened] }},
		{name: "the account is gone again", rule: RuleRent, world: func(b *bench) { b.after[b.opened] = nil }},
		{name: "the account is another program's", rule: RuleRent, world: func(b *bench) { b.after[b.opened].Owner = solana.SystemProgramID }},
		{name: "the account has more than its rent", rule: RuleRent, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[0] = b.send(rentOf100 + 1)
			return all
		}, world: func(b *bench) {
			b.after[b.key.PublicKey()].Lamports--
			b.after[b.opened].Lamports++
		}},
		{name: "an account that only a token's instruction names", rule: RuleRent, change: func(b *bench, all []solana.Instruction) []solana.Instruction {
			all[1] = solana.NewInstruction(market.ProgramID, solana.AccountMetaSlice{meta(b.wallet.PublicKey(), true, true)}, []byte("deposits"))
			return append(all, solana.NewInstruction(solana.SPLAssociatedTokenAccountProgramID, solana.AccountMetaSlice{meta(b.wallet.PublicKey(), true, true), meta(b.opened, true, false)}, []byte{1}))
		}},
		{name: "the wallet gains what an account held that it closes", rule: RuleGain, world: func(b *bench) {
			b.after[b.wallet.PublicKey()] = &chain.AccountAfter{Lamports: 1}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			_, err := b.sign(b.raw(b.key.PublicKey(), b.good()...))
			require.NoError(t, err)
			spent, err := b.book.Spent(b.now, "ana")
			require.NoError(t, err)
			if c.world != nil {
				c.world(b)
			}
			var raw []byte
			switch {
			case c.raw != nil:
				raw = c.raw(b)
			case c.change != nil:
				raw = b.raw(b.key.PublicKey(), c.change(b, b.good())...)
			default:
				raw = b.raw(b.key.PublicKey(), b.good()...)
			}
			_, err = b.sign(raw)
			var why *sponsor.Refusal
			require.ErrorAs(t, err, &why)
			require.Equal(t, c.rule, why.Rule, why.Reason)
			require.NotEmpty(t, why.Reason)
			after, err := b.book.Spent(b.now, "ana")
			require.NoError(t, err)
			require.Equal(t, spent, after, "what is refused costs nothing")
		})
	}
}

// A limit holds for each caller and for all, is kept over a restart, and begins anew with the day.
func TestLimits(t *testing.T) {
	b := newBench(t)
	raw := b.raw(b.key.PublicKey(), b.good()...)
	of := func(name string) error {
		_, err := b.desk.Sign(t.Context(), Caller{Name: name}, raw)
		return err
	}
	refused := func(err error, rule string) {
		t.Helper()
		var why *sponsor.Refusal
		require.ErrorAs(t, err, &why)
		require.Equal(t, rule, why.Rule)
		require.Equal(t, time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC), why.Renews)
		require.Contains(t, why.Advice, "2027-03-02 00:00:00 UTC")
	}
	require.NoError(t, of("ana"))
	require.NoError(t, of("ana"))
	refused(of("ana"), RuleLimit)
	require.NoError(t, of("bob"))

	// After a restart the same holds. A book of another key is not taken for this one's.
	require.NoError(t, b.book.Close())
	_, err := OpenBook(b.path, newKey(t).PublicKey())
	require.Error(t, err)
	b.book, err = OpenBook(b.path, b.key.PublicKey())
	require.NoError(t, err)
	b.begin()
	refused(of("ana"), RuleLimit)
	require.NoError(t, of("bob"))
	require.NoError(t, of("")) // of an operator: the wallet's own limit
	refused(of("eve"), RuleTotal)
	spent, err := b.book.Spent(b.now, "wallet "+b.wallet.PublicKey().String())
	require.NoError(t, err)
	require.EqualValues(t, rentOf100+fee, spent)
	spent, err = b.book.Spent(b.now, "eve")
	require.NoError(t, err)
	require.Zero(t, spent, "what the total refuses is not counted for the caller")

	b.now = b.now.Add(time.Hour)
	require.NoError(t, of("ana"))
	require.NoError(t, of("ana"))
	refusedLater := of("ana")
	var why *sponsor.Refusal
	require.ErrorAs(t, refusedLater, &why)
	require.Equal(t, RuleLimit, why.Rule)

	// Days that are long over are forgotten.
	first := b.now.Add(-time.Hour)
	b.now = b.now.Add(keptDays * day)
	require.NoError(t, of("ana"))
	spent, err = b.book.Spent(first, "ana")
	require.NoError(t, err)
	require.Zero(t, spent)
}

// The answers are those of Kora.
func TestAnswersOfKora(t *testing.T) {
	b := newBench(t)
	ask := func(body string) sponsor.Response {
		var out sponsor.Response
		require.NoError(t, json.Unmarshal(b.desk.Answer(t.Context(), Caller{Name: "ana"}, []byte(body)), &out))
		require.Equal(t, "2.0", out.Version)
		return out
	}
	key := b.key.PublicKey().String()
	r := ask(`{"jsonrpc":"2.0","id":"a","method":"getPayerSigner"}`)
	require.JSONEq(t, `{"signer_address":"`+key+`","payment_address":"`+key+`"}`, string(r.Result))
	require.Equal(t, `"a"`, string(r.ID))
	r = ask(`{"jsonrpc":"2.0","id":1,"method":"getConfig","params":[]}`)
	var c sponsor.Config
	require.NoError(t, json.Unmarshal(r.Result, &c))
	require.Equal(t, []string{key}, c.Payers)
	require.Contains(t, c.Rules.Programs, market.ProgramID.String())
	require.True(t, c.Has["sign_transaction"])
	require.Nil(t, ask(`{"jsonrpc":"2.0","id":1,"method":"liveness"}`).Error)

	raw := base64.StdEncoding.EncodeToString(b.raw(b.key.PublicKey(), b.good()...))
	for _, params := range []string{`{"transaction":"` + raw + `"}`, `[{"transaction":"` + raw + `","signer_key":"` + key + `","sig_verify":false}]`} {
		r = ask(`{"jsonrpc":"2.0","id":1,"method":"signTransaction","params":` + params + `}`)
		require.Nil(t, r.Error)
		var s sponsor.Signed
		require.NoError(t, json.Unmarshal(r.Result, &s))
		require.Equal(t, key, s.Signer)
	}
	r = ask(`{"jsonrpc":"2.0","id":1,"method":"signTransaction","params":{"transaction":"` + raw + `"}}`)
	require.Equal(t, sponsor.CodeRefused, r.Error.Code)
	require.Contains(t, string(r.Error.Data), `"rule":"limit"`)
	require.Contains(t, string(r.Error.Data), `"renews":"2027-03-02T00:00:00Z"`)

	b.down = errors.New("no node answers")
	for body, code := range map[string]int{
		`hello`:           sponsor.CodeParse,
		`{"method":"x"}`:  sponsor.CodeParse,
		`[{"jsonrpc":1}]`: sponsor.CodeParse,
		`{"jsonrpc":"2.0","id":1,"method":"signAndSendTransaction"}`:                                                                                      sponsor.CodeMethod,
		`{"jsonrpc":"2.0","id":1,"method":"signTransaction"}`:                                                                                             sponsor.CodeParams,
		`{"jsonrpc":"2.0","id":1,"method":"signTransaction","params":{"transaction":"%"}}`:                                                                sponsor.CodeParams,
		`{"jsonrpc":"2.0","id":1,"method":"signTransaction","params":{"transaction":"` + raw + `","signer_key":"` + b.wallet.PublicKey().String() + `"}}`: sponsor.CodeParams,
		`{"jsonrpc":"2.0","id":1,"method":"signTransaction","params":{"transaction":"` + raw + `"}}`:                                                      sponsor.CodeFault,
	} {
		r := ask(body)
		require.NotNil(t, r.Error, body)
		require.Equal(t, code, r.Error.Code, body)
	}
}
