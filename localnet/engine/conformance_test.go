package engine

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	computebudget "github.com/gagliardetto/solana-go/programs/compute-budget"
	"github.com/gagliardetto/solana-go/programs/memo"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/gagliardetto/solana-go/rpc"
	"github.com/gagliardetto/solana-go/rpc/ws"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/process"
)

// Everything the keepers, agents and the client ask of a node is asked here of both engines, so that a difference
// between them shows here and not in a scenario.

const committed = rpc.CommitmentConfirmed

// cluster is a running engine with a funded wallet.
type cluster struct {
	t      *testing.T
	engine Engine
	at     Endpoint
	rpc    *rpc.Client
	payer  solana.PrivateKey
	prog   Program
}

func artifact(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../program/artifacts/gantry_market.so")
	require.NoError(t, err)
	if given := os.Getenv("GANTRY_TEST_PROGRAM"); given != "" {
		path = given
	}
	return path
}

func startCluster(t *testing.T, kind Kind) *cluster {
	t.Helper()
	if _, err := Find(kind, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	dir := t.TempDir()
	sup, err := process.New(dir, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	authority := solana.NewWallet().PublicKey()
	prog := Program{ID: solana.NewWallet().PublicKey(), Path: artifact(t), Authority: authority}
	e, err := New(kind, Config{
		Dir: filepath.Join(dir, "node"), Programs: []Program{prog}, Supervisor: sup, Log: zerolog.New(zerolog.NewTestWriter(t)),
	})
	require.NoError(t, err)
	at, err := e.Start(t.Context())
	require.NoError(t, err)
	c := &cluster{t: t, engine: e, at: at, rpc: rpc.New(at.RPC), payer: solana.NewWallet().PrivateKey, prog: prog}
	t.Cleanup(func() { _ = c.rpc.Close() })
	sig, err := c.rpc.RequestAirdrop(t.Context(), c.payer.PublicKey(), 100*solana.LAMPORTS_PER_SOL, committed)
	require.NoError(t, err)
	c.await(sig)
	return c
}

// await waits until a signature is confirmed and returns its status.
func (c *cluster) await(sig solana.Signature) *rpc.SignatureStatusesResult {
	c.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		out, err := c.rpc.GetSignatureStatuses(c.t.Context(), false, sig)
		require.NoError(c.t, err)
		if s := out.Value[0]; s != nil && (s.ConfirmationStatus == rpc.ConfirmationStatusConfirmed || s.ConfirmationStatus == rpc.ConfirmationStatusFinalized) {
			return s
		}
		time.Sleep(5 * time.Millisecond)
	}
	require.FailNow(c.t, "not confirmed", "%s", sig)
	return nil
}

func (c *cluster) transaction(signers []solana.PrivateKey, ixs ...solana.Instruction) *solana.Transaction {
	c.t.Helper()
	recent, err := c.rpc.GetLatestBlockhash(c.t.Context(), committed)
	require.NoError(c.t, err)
	tx, err := solana.NewTransaction(ixs, recent.Value.Blockhash, solana.TransactionPayer(c.payer.PublicKey()))
	require.NoError(c.t, err)
	_, err = tx.Sign(func(key solana.PublicKey) *solana.PrivateKey {
		for _, s := range append(signers, c.payer) {
			if s.PublicKey() == key {
				return &s
			}
		}
		return nil
	})
	require.NoError(c.t, err)
	return tx
}

func (c *cluster) send(signers []solana.PrivateKey, ixs ...solana.Instruction) solana.Signature {
	c.t.Helper()
	sig, err := c.trySend(signers, ixs...)
	require.NoError(c.t, err)
	s := c.await(sig)
	require.Nil(c.t, s.Err, "%s", sig)
	return sig
}

func (c *cluster) trySend(signers []solana.PrivateKey, ixs ...solana.Instruction) (solana.Signature, error) {
	c.t.Helper()
	return c.rpc.SendTransactionWithOpts(c.t.Context(), c.transaction(signers, ixs...), rpc.TransactionOpts{PreflightCommitment: committed})
}

// chainTime is Clock.unix_timestamp of the processed bank.
func (c *cluster) chainTime() time.Time {
	c.t.Helper()
	info, err := c.rpc.GetAccountInfoWithOpts(c.t.Context(), solana.SysVarClockPubkey, &rpc.GetAccountInfoOpts{
		Commitment: rpc.CommitmentProcessed, Encoding: solana.EncodingBase64,
	})
	require.NoError(c.t, err)
	return time.Unix(int64(binary.LittleEndian.Uint64(info.Value.Data.GetBinary()[32:40])), 0)
}

func TestConformance(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, kind)
			for _, check := range []struct {
				name string
				run  func(*testing.T, cluster)
			}{
				{"upgradeable program", upgradeableProgram},
				{"confirmation and history", confirmationAndHistory},
				{"simulation and fees", simulationAndFees},
				{"failed transactions", failedTransactions},
				{"ed25519 precompile", ed25519Precompile},
				{"program accounts and subscription", programAccounts},
				{"closed account", closedAccount},
				{"blockhash", blockhashInfo},
				{"finality", finality},
				{"clock", clockFollowsWallClock},
			} {
				t.Run(check.name, func(t *testing.T) {
					sub := *c
					sub.t = t
					check.run(t, sub)
				})
			}
			require.NoError(t, c.engine.Err())
			require.NoError(t, c.engine.Stop(context.Background()))
			<-c.engine.Done()
			_, err := c.rpc.GetHealth(t.Context())
			require.Error(t, err)
		})
	}
}

func upgradeableProgram(t *testing.T, c cluster) {
	loader := solana.MustPublicKeyFromBase58("BPFLoaderUpgradeab1e11111111111111111111111")
	want, err := os.ReadFile(c.prog.Path)
	require.NoError(t, err)
	opts := &rpc.GetAccountInfoOpts{Commitment: committed, Encoding: solana.EncodingBase64}

	program, err := c.rpc.GetAccountInfoWithOpts(t.Context(), c.prog.ID, opts)
	require.NoError(t, err)
	require.Equal(t, loader, program.Value.Owner)
	require.True(t, program.Value.Executable)
	data := program.Value.Data.GetBinary()
	require.Len(t, data, 36)
	require.EqualValues(t, 2, binary.LittleEndian.Uint32(data), "state Program")
	programData, _, err := solana.FindProgramAddress([][]byte{c.prog.ID[:]}, loader)
	require.NoError(t, err)
	require.Equal(t, programData[:], data[4:])

	info, err := c.rpc.GetAccountInfoWithOpts(t.Context(), programData, opts)
	require.NoError(t, err)
	require.Equal(t, loader, info.Value.Owner)
	data = info.Value.Data.GetBinary()
	require.EqualValues(t, 3, binary.LittleEndian.Uint32(data), "state ProgramData")
	require.EqualValues(t, 1, data[12], "has an authority")
	require.Equal(t, c.prog.Authority[:], data[13:45])
	require.Equal(t, want, data[45:])
}

func confirmationAndHistory(t *testing.T, c cluster) {
	to := solana.NewWallet().PublicKey()
	before := time.Now()
	sig := c.send(nil, system.NewTransferInstruction(solana.LAMPORTS_PER_SOL, c.payer.PublicKey(), to).Build())
	t.Logf("confirmed after %s", time.Since(before).Round(time.Millisecond))

	zero := uint64(0)
	tx, err := c.rpc.GetTransaction(t.Context(), sig, &rpc.GetTransactionOpts{
		Encoding: solana.EncodingBase64, Commitment: committed, MaxSupportedTransactionVersion: &zero,
	})
	require.NoError(t, err)
	require.Nil(t, tx.Meta.Err)
	require.NotEmpty(t, tx.Meta.LogMessages)
	require.NotNil(t, tx.BlockTime)
	require.InDelta(t, time.Now().Unix(), tx.BlockTime.Time().Unix(), 3)
	decoded, err := tx.Transaction.GetTransaction()
	require.NoError(t, err)
	require.Equal(t, sig, decoded.Signatures[0])

	list, err := c.rpc.GetSignaturesForAddressWithOpts(t.Context(), to, &rpc.GetSignaturesForAddressOpts{Commitment: committed})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, sig, list[0].Signature)
	require.Equal(t, tx.Slot, list[0].Slot)

	// Pages go backwards from `before` and end at `until`.
	second := c.send(nil, system.NewTransferInstruction(solana.LAMPORTS_PER_SOL, c.payer.PublicKey(), to).Build())
	list, err = c.rpc.GetSignaturesForAddressWithOpts(t.Context(), to, &rpc.GetSignaturesForAddressOpts{Commitment: committed, Until: sig})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, second, list[0].Signature)
	list, err = c.rpc.GetSignaturesForAddressWithOpts(t.Context(), to, &rpc.GetSignaturesForAddressOpts{Commitment: committed, Before: second})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, sig, list[0].Signature)
}

func simulationAndFees(t *testing.T, c cluster) {
	tx := c.transaction(nil, memo.NewMemoInstruction([]byte("hello"), c.payer.PublicKey()).Build())
	out, err := c.rpc.SimulateTransactionWithOpts(t.Context(), tx, &rpc.SimulateTransactionOpts{
		SigVerify: true, Commitment: committed,
		Accounts: &rpc.SimulateTransactionAccountsOpts{Encoding: solana.EncodingBase64, Addresses: []solana.PublicKey{c.payer.PublicKey()}},
	})
	require.NoError(t, err)
	require.Nil(t, out.Value.Err)
	require.NotNil(t, out.Value.UnitsConsumed)
	require.NotZero(t, *out.Value.UnitsConsumed)
	require.NotEmpty(t, out.Value.Logs)
	require.Len(t, out.Value.Accounts, 1)

	fees, err := c.rpc.GetRecentPrioritizationFees(t.Context(), solana.PublicKeySlice{c.payer.PublicKey()})
	require.NoError(t, err)
	t.Logf("%d recent priority fees", len(fees))

	// A compute limit and a price are honoured.
	c.send(nil,
		computebudget.NewSetComputeUnitLimitInstruction(uint32(*out.Value.UnitsConsumed)+500).Build(),
		computebudget.NewSetComputeUnitPriceInstruction(1000).Build(),
		memo.NewMemoInstruction([]byte("hello"), c.payer.PublicKey()).Build())
	rent, err := c.rpc.GetMinimumBalanceForRentExemption(t.Context(), 100, committed)
	require.NoError(t, err)
	require.NotZero(t, rent)
}

func failedTransactions(t *testing.T, c cluster) {
	tooMuch := system.NewTransferInstruction(1_000_000*solana.LAMPORTS_PER_SOL, c.payer.PublicKey(), solana.NewWallet().PublicKey()).Build()
	_, err := c.trySend(nil, tooMuch)
	require.ErrorContains(t, err, "custom program error: 0x1")

	// Without preflight it lands and fails on chain.
	sig, err := c.rpc.SendTransactionWithOpts(t.Context(), c.transaction(nil, tooMuch), rpc.TransactionOpts{SkipPreflight: true})
	require.NoError(t, err)
	require.NotNil(t, c.await(sig).Err)

	// The same transaction twice has one effect.
	to := solana.NewWallet().PublicKey()
	tx := c.transaction(nil, system.NewTransferInstruction(solana.LAMPORTS_PER_SOL, c.payer.PublicKey(), to).Build())
	opts := rpc.TransactionOpts{SkipPreflight: true}
	first, err := c.rpc.SendTransactionWithOpts(t.Context(), tx, opts)
	require.NoError(t, err)
	again, err := c.rpc.SendTransactionWithOpts(t.Context(), tx, opts)
	t.Logf("the second time: %v", err)
	if err == nil {
		require.Equal(t, first, again)
	}
	require.Nil(t, c.await(first).Err)
	if _, err = c.rpc.SendTransactionWithOpts(t.Context(), tx, opts); err != nil {
		t.Logf("the third time: %v", err)
	}
	time.Sleep(300 * time.Millisecond)
	require.Nil(t, c.await(first).Err, "the status of a transaction must not change when it is sent again")
	balance, err := c.rpc.GetBalance(t.Context(), to, committed)
	require.NoError(t, err)
	require.Equal(t, solana.LAMPORTS_PER_SOL, balance.Value)
}

func ed25519Precompile(t *testing.T, c cluster) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	message := []byte("sixty-four bytes of receipt would stand here; any message will do")
	build := func(signature []byte) solana.Instruction {
		data := []byte{1, 0, 48, 0, 0xff, 0xff, 16, 0, 0xff, 0xff, 112, 0}
		data = binary.LittleEndian.AppendUint16(data, uint16(len(message)))
		data = append(data, 0xff, 0xff)
		data = append(data, public...)
		data = append(data, signature...)
		data = append(data, message...)
		return solana.NewInstruction(solana.MustPublicKeyFromBase58("Ed25519SigVerify111111111111111111111111111"), nil, data)
	}
	good := ed25519.Sign(private, message)
	c.send(nil, build(good), memo.NewMemoInstruction([]byte("signed"), c.payer.PublicKey()).Build())
	bad := append([]byte(nil), good...)
	bad[0] ^= 1
	_, err = c.trySend(nil, build(bad), memo.NewMemoInstruction([]byte("forged"), c.payer.PublicKey()).Build())
	require.Error(t, err)
}

func programAccounts(t *testing.T, c cluster) {
	client, err := ws.Connect(t.Context(), c.at.WS)
	require.NoError(t, err)
	defer client.Close()
	filters := []rpc.RPCFilter{{DataSize: token.MINT_SIZE}, {Memcmp: &rpc.RPCFilterMemcmp{Offset: 4, Bytes: solana.Base58(c.payer.PublicKey().Bytes())}}}
	sub, err := client.ProgramSubscribeWithOpts(token.ProgramID, committed, solana.EncodingBase64, filters)
	require.NoError(t, err)
	defer sub.Unsubscribe()

	rent, err := c.rpc.GetMinimumBalanceForRentExemption(t.Context(), token.MINT_SIZE, committed)
	require.NoError(t, err)
	var mint solana.PrivateKey
	var sig solana.Signature
	var got *ws.ProgramResult
	made := 0
	// The client does not wait until the node has accepted a subscription: what is made before is not announced.
	require.Eventually(t, func() bool {
		mint = solana.NewWallet().PrivateKey
		sig = c.send([]solana.PrivateKey{mint},
			system.NewCreateAccountInstruction(rent, token.MINT_SIZE, token.ProgramID, c.payer.PublicKey(), mint.PublicKey()).Build(),
			token.NewInitializeMint2Instruction(6, c.payer.PublicKey(), c.payer.PublicKey(), mint.PublicKey()).Build())
		made++
		soon, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		got, err = sub.Recv(soon)
		return err == nil && got.Value.Pubkey == mint.PublicKey()
	}, 30*time.Second, time.Millisecond)
	require.Len(t, got.Value.Account.Data.GetBinary(), token.MINT_SIZE)
	require.NotZero(t, got.Context.Slot)

	accounts, err := c.rpc.GetProgramAccountsWithOpts(t.Context(), token.ProgramID, &rpc.GetProgramAccountsOpts{
		Commitment: committed, Encoding: solana.EncodingBase64, Filters: filters,
	})
	require.NoError(t, err)
	require.Len(t, accounts, made)
	require.True(t, slices.ContainsFunc(accounts, func(a *rpc.KeyedAccount) bool { return a.Pubkey == mint.PublicKey() }))
	t.Logf("mint made in %s", sig)

	many, err := c.rpc.GetMultipleAccountsWithOpts(t.Context(), []solana.PublicKey{mint.PublicKey(), solana.NewWallet().PublicKey()},
		&rpc.GetMultipleAccountsOpts{Commitment: committed, Encoding: solana.EncodingBase64})
	require.NoError(t, err)
	require.NotNil(t, many.Value[0])
	require.Nil(t, many.Value[1])
	require.NotZero(t, many.Context.Slot)

	logs, err := client.LogsSubscribeMentions(c.payer.PublicKey(), committed)
	require.NoError(t, err)
	defer logs.Unsubscribe()
	require.Eventually(t, func() bool {
		sig = c.send(nil, memo.NewMemoInstruction(fmt.Appendf(nil, "seen %d", made), c.payer.PublicKey()).Build())
		made++
		soon, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		line, err := logs.Recv(soon)
		return err == nil && line.Value.Signature == sig
	}, 30*time.Second, time.Millisecond)
}

// closedAccount shows that a closed account is announced to accountSubscribe, as empty, and not to programSubscribe of
// the program that owned it: who watches a program's accounts learns of closings from a snapshot only.
func closedAccount(t *testing.T, c cluster) {
	rent, err := c.rpc.GetMinimumBalanceForRentExemption(t.Context(), token.MINT_SIZE, committed)
	require.NoError(t, err)
	accountRent, err := c.rpc.GetMinimumBalanceForRentExemption(t.Context(), 165, committed)
	require.NoError(t, err)
	mint, account, owner := solana.NewWallet().PrivateKey, solana.NewWallet().PrivateKey, c.payer.PublicKey()
	c.send([]solana.PrivateKey{mint, account},
		system.NewCreateAccountInstruction(rent, token.MINT_SIZE, token.ProgramID, owner, mint.PublicKey()).Build(),
		token.NewInitializeMint2Instruction(6, owner, owner, mint.PublicKey()).Build(),
		system.NewCreateAccountInstruction(accountRent, 165, token.ProgramID, owner, account.PublicKey()).Build(),
		token.NewInitializeAccount3Instruction(owner, account.PublicKey(), mint.PublicKey()).Build())

	client, err := ws.Connect(t.Context(), c.at.WS)
	require.NoError(t, err)
	defer client.Close()
	program, err := client.ProgramSubscribeWithOpts(token.ProgramID, committed, solana.EncodingBase64, nil)
	require.NoError(t, err)
	defer program.Unsubscribe()
	single, err := client.AccountSubscribeWithOpts(account.PublicKey(), committed, solana.EncodingBase64)
	require.NoError(t, err)
	defer single.Unsubscribe()
	// The client does not wait until the node has accepted a subscription: the first announcement shows that it has.
	require.Eventually(t, func() bool {
		c.send(nil, system.NewTransferInstruction(1, owner, account.PublicKey()).Build())
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := single.Recv(soon)
		return err == nil
	}, 20*time.Second, time.Millisecond)
	c.send(nil, token.NewCloseAccountInstruction(account.PublicKey(), owner, owner, nil).Build())

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := single.Recv(ctx)
	for err == nil && got.Value.Lamports != 0 { // a transfer that was announced late
		got, err = single.Recv(ctx)
	}
	require.NoError(t, err)
	require.Empty(t, got.Value.Data.GetBinary())

	short, cancelShort := context.WithTimeout(t.Context(), time.Second)
	defer cancelShort()
	update, err := program.Recv(short)
	if err == nil {
		t.Logf("programSubscribe announced the closing: %s owner %s lamports %d", update.Value.Pubkey, update.Value.Account.Owner, update.Value.Account.Lamports)
	} else {
		t.Logf("programSubscribe did not announce the closing: %v", err)
	}
	left, err := c.rpc.GetProgramAccountsWithOpts(t.Context(), token.ProgramID, &rpc.GetProgramAccountsOpts{
		Commitment: committed, Encoding: solana.EncodingBase64,
		Filters: []rpc.RPCFilter{{DataSize: 165}, {Memcmp: &rpc.RPCFilterMemcmp{Offset: 32, Bytes: solana.Base58(owner.Bytes())}}},
	})
	require.NoError(t, err)
	require.Empty(t, left)
}

func blockhashInfo(t *testing.T, c cluster) {
	recent, err := c.rpc.GetLatestBlockhash(t.Context(), committed)
	require.NoError(t, err)
	height, err := c.rpc.GetBlockHeight(t.Context(), committed)
	require.NoError(t, err)
	t.Logf("last valid height is %d blocks ahead", recent.Value.LastValidBlockHeight-height)
	require.Greater(t, recent.Value.LastValidBlockHeight, height)
	valid, err := c.rpc.IsBlockhashValid(t.Context(), recent.Value.Blockhash, committed)
	require.NoError(t, err)
	require.True(t, valid.Value)
	valid, err = c.rpc.IsBlockhashValid(t.Context(), solana.Hash{1}, committed)
	require.NoError(t, err)
	require.False(t, valid.Value)

	// A transaction with an unknown blockhash is refused.
	tx, err := solana.NewTransaction([]solana.Instruction{memo.NewMemoInstruction([]byte("old"), c.payer.PublicKey()).Build()},
		solana.Hash{1}, solana.TransactionPayer(c.payer.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &c.payer })
	require.NoError(t, err)
	_, err = c.rpc.SendTransactionWithOpts(t.Context(), tx, rpc.TransactionOpts{PreflightCommitment: committed})
	require.ErrorContains(t, err, "lockhash")
}

func finality(t *testing.T, c cluster) {
	sig := c.send(nil, memo.NewMemoInstruction([]byte(fmt.Sprint(time.Now())), c.payer.PublicKey()).Build())
	before := time.Now()
	require.Eventually(t, func() bool {
		out, err := c.rpc.GetSignatureStatuses(t.Context(), true, sig)
		return err == nil && out.Value[0] != nil && out.Value[0].ConfirmationStatus == rpc.ConfirmationStatusFinalized
	}, 30*time.Second, 20*time.Millisecond)
	t.Logf("final %s after confirmation", time.Since(before).Round(10*time.Millisecond))
}

// clockFollowsWallClock compares the chain's clock with the wall clock, idle and under load. Its resolution is a
// second, so a reading may lag by one; periods of a local network are 5 s, so more would matter.
func clockFollowsWallClock(t *testing.T, c cluster) {
	bound := 2.5
	if c.engine.Kind() == Agave {
		bound = 6 // its clock follows its votes, which come late on a busy machine
	}
	watch := func(what string, busy bool) {
		var lo, hi float64
		last := c.chainTime()
		for i, end := 0, time.Now().Add(4*time.Second); time.Now().Before(end); i++ {
			if busy {
				_, err := c.trySend(nil, memo.NewMemoInstruction([]byte(fmt.Sprint(what, i)), c.payer.PublicKey()).Build())
				require.NoError(t, err)
			} else {
				time.Sleep(20 * time.Millisecond)
			}
			now := c.chainTime()
			require.False(t, now.Before(last), "the clock went back from %s to %s", last, now)
			last = now
			late := time.Since(now).Seconds()
			lo, hi = min(lo, late), max(hi, late)
		}
		t.Logf("%s: chain clock between %.2f s ahead and %.2f s behind", what, -lo, hi)
		require.LessOrEqual(t, hi, bound, "the clock is late")
		require.GreaterOrEqual(t, lo, -1.0, "the clock is ahead")
	}
	watch("idle", false)
	watch("busy", true)
}

func TestTravel(t *testing.T) {
	c := startCluster(t, Surfnet)
	target := time.Now().Add(31 * 24 * time.Hour)
	require.NoError(t, c.engine.Travel(t.Context(), target))
	time.Sleep(2 * time.Second)
	require.InDelta(t, target.Add(2*time.Second).Unix(), c.chainTime().Unix(), 2)
	c.send(nil, memo.NewMemoInstruction([]byte("later"), c.payer.PublicKey()).Build())
	require.InDelta(t, target.Add(2*time.Second).Unix(), c.chainTime().Unix(), 2)
}
