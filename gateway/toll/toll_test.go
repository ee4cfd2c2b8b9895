package toll

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

func key(n byte) solana.PublicKey { return solana.PublicKey{n, 1} }

func sigOf(n byte) solana.Signature { return solana.Signature{n, 1} }

// ledger is what the chain has; a transaction that is missing is not final.
type ledger map[solana.Signature]chain.Landed

func (l ledger) read(_ context.Context, sig solana.Signature) (chain.Landed, error) {
	if t, ok := l[sig]; ok {
		t.Signature = sig
		return t, nil
	}
	return chain.Landed{}, fmt.Errorf("transaction %s: %w", sig, chain.ErrNotFound)
}

var (
	mint, payee, gateway = key(200), key(201), key(202)
	domain               = records.Domain{7}
)

func newBook(t *testing.T, l ledger, change func(*Options)) *Book {
	t.Helper()
	o := Options{
		Path: filepath.Join(t.TempDir(), "payments.db"), Domain: domain, Gateway: gateway, Price: 50_000, Free: 40 << 20, Mint: mint, Payee: payee, Transaction: l.read,
	}
	if change != nil {
		change(&o)
	}
	b, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// transfer is an instruction that moves tokens and names more accounts.
type transfer struct {
	program, mint, from, to solana.PublicKey
	amount                  uint64
	kind                    byte
	more                    []solana.PublicKey
}

func pays(customer solana.PublicKey, number, amount uint64) transfer {
	p := records.Payment{Domain: domain, Gateway: gateway, Customer: customer, Number: number}
	return transfer{solana.TokenProgramID, mint, key(150), market.TokenAddress(payee, mint), amount, transferChecked, []solana.PublicKey{p.Purpose()}}
}

func landed(all ...transfer) chain.Landed {
	l := chain.Landed{Tx: &solana.Transaction{}}
	at := func(k solana.PublicKey) uint16 {
		l.Keys = append(l.Keys, k)
		return uint16(len(l.Keys) - 1)
	}
	for _, x := range all {
		in := solana.CompiledInstruction{ProgramIDIndex: at(x.program), Data: append(binary.LittleEndian.AppendUint64([]byte{x.kind}, x.amount), 6)}
		for _, k := range append([]solana.PublicKey{x.from, x.mint, x.to, key(151)}, x.more...) {
			in.Accounts = append(in.Accounts, at(k))
		}
		l.Tx.Message.Instructions = append(l.Tx.Message.Instructions, in)
	}
	return l
}

func refusedWith(t *testing.T, err error, says string) {
	t.Helper()
	var no *RefusedError
	require.ErrorAs(t, err, &no)
	require.Contains(t, no.Why, says)
}

func TestAPaymentCountsOnceAndForItsWallet(t *testing.T) {
	one, other := key(1), key(2)
	both := landed(pays(one, 1, 50_000), pays(other, 1, 100_000), pays(one, 1, 50_000))
	l := ledger{sigOf(1): landed(pays(one, 9, 50_000)), sigOf(2): both}
	b := newBook(t, l, nil)
	for range 2 { // whoever asks again gets the same answer, and nothing more
		n, err := b.Pay(t.Context(), one, 9, sigOf(1))
		require.NoError(t, err)
		require.EqualValues(t, GiB, n)
	}
	_, err := b.Pay(t.Context(), other, 9, sigOf(1))
	refusedWith(t, err, "for another wallet")
	_, paid, err := b.Left(key(50), one)
	require.NoError(t, err)
	require.EqualValues(t, GiB, paid)

	n, err := b.Pay(t.Context(), one, 1, sigOf(2))
	require.NoError(t, err)
	require.EqualValues(t, 2*GiB, n, "each transfer that names the purpose, and no other")
	_, err = b.Pay(t.Context(), other, 1, sigOf(2))
	refusedWith(t, err, "for another wallet")
	require.Equal(t, Counts{Payments: 2, Received: 150_000, Refused: 2, Lookups: 2}, b.Counts(), "what is in the book is not looked up again")

	// The file has it all after the process has ended.
	require.NoError(t, b.Close())
	again := newBook(t, ledger{}, func(o *Options) { o.Path = b.o.Path })
	n, err = again.Pay(t.Context(), one, 9, sigOf(1))
	require.NoError(t, err)
	require.EqualValues(t, GiB, n)
	_, paid, err = again.Left(key(50), one)
	require.NoError(t, err)
	require.EqualValues(t, 3*GiB, paid)
}

// TestManyBringOnePayment: the same signature at the same moment, by many.
func TestManyBringOnePayment(t *testing.T) {
	b := newBook(t, ledger{sigOf(1): landed(pays(key(1), 9, 50_000))}, nil)
	var wg sync.WaitGroup
	for range lookupsOfOneAt {
		wg.Go(func() {
			if n, err := b.Pay(t.Context(), key(1), 9, sigOf(1)); err != nil || n != GiB {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	wg.Wait()
	_, paid, err := b.Left(key(50), key(1))
	require.NoError(t, err)
	require.EqualValues(t, GiB, paid)
	require.EqualValues(t, 1, b.Counts().Payments)
}

func TestWhatIsNoPaymentIsRefused(t *testing.T) {
	me := key(1)
	change := func(f func(*transfer)) chain.Landed {
		x := pays(me, 9, 50_000)
		f(&x)
		return landed(x)
	}
	failed := landed(pays(me, 9, 50_000))
	failed.Err = []byte(`{"InstructionError":[0,{"Custom":1}]}`)
	broken := landed(pays(me, 9, 50_000))
	broken.Tx.Message.Instructions[0].Accounts[1] = 99
	foreign := pays(me, 9, 1)
	foreign.more = []solana.PublicKey{records.Payment{Domain: records.Domain{8}, Gateway: gateway, Customer: me, Number: 9}.Purpose()}
	elsewhere := pays(me, 9, 1)
	elsewhere.more = []solana.PublicKey{records.Payment{Domain: domain, Gateway: key(99), Customer: me, Number: 9}.Purpose()}
	for _, c := range []struct {
		name string
		tx   chain.Landed
		says string
	}{
		{"failed", failed, "has failed"},
		{"another token", change(func(x *transfer) { x.mint = key(9) }), "in another token"},
		{"another account", change(func(x *transfer) { x.to = key(9) }), "went to account"},
		{"of the account itself", change(func(x *transfer) { x.from = x.to }), "comes from the account"},
		{"another program", change(func(x *transfer) { x.program = key(9) }), "has no payment"},
		{"another instruction", change(func(x *transfer) { x.kind = 13 }), "has no payment"},
		{"no purpose", change(func(x *transfer) { x.more = nil }), "has no payment"},
		{"purpose in another place", change(func(x *transfer) { x.from, x.more = x.more[0], nil }), "has no payment"},
		{"another wallet", landed(pays(key(2), 9, 50_000)), "has no payment"},
		{"another number", landed(pays(me, 8, 50_000)), "has no payment"},
		{"another cluster", landed(foreign), "has no payment"},
		{"another gateway", landed(elsewhere), "has no payment"},
		{"nothing", change(func(x *transfer) { x.amount = 0 }), "moved nothing"},
		{"indices that lead nowhere", broken, "has no payment"},
		{"no instruction", landed(), "has no payment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t, ledger{sigOf(1): c.tx}, nil)
			_, err := b.Pay(t.Context(), me, 9, sigOf(1))
			refusedWith(t, err, c.says)
			_, paid, err := b.Left(key(50), me)
			require.NoError(t, err)
			require.Zero(t, paid)
		})
	}
}

// TestInventedSignaturesAreBounded: of one wallet, and of all together; a transaction that is not final may be brought again.
func TestInventedSignaturesAreBounded(t *testing.T) {
	b := newBook(t, ledger{}, nil)
	for i := range byte(200) {
		_, err := b.Pay(t.Context(), key(1), 9, sigOf(i))
		var no *RefusedError
		require.ErrorAs(t, err, &no)
		require.True(t, no.Later)
	}
	require.LessOrEqual(t, b.Counts().Lookups, uint64(lookupsOfOneAt+20), "five, and one every five seconds")
	for i := range byte(200) {
		_, err := b.Pay(t.Context(), key(i), 9, sigOf(i))
		require.Error(t, err)
	}
	require.Less(t, b.Counts().Lookups, uint64(200))
	require.Zero(t, b.Counts().Refused, "they may still become final")
}

func TestAllowanceFirstThenWhatWasPaid(t *testing.T) {
	me, first, second := key(1), key(50), key(51)
	b := newBook(t, ledger{sigOf(1): landed(pays(me, 9, 1_000))}, nil) // 20 MiB and a bit
	bought := bytesFor(1_000, 50_000)
	a := b.Account(first, me)
	require.Same(t, a, b.Account(first, me))
	drain := func(a *Account) (sum uint64) { // until nothing is left
		t.Helper()
		for {
			n, err := a.Take(60_000)
			sum += uint64(n)
			if err != nil {
				var no *UnpaidError
				require.ErrorAs(t, err, &no)
				require.Contains(t, no.Why, "0.05 USDC a GiB; wallet "+a.customer.String())
				require.Contains(t, no.Why, "gantry gateway pay "+a.lease.String()+" --via "+gateway.String()+" --amount 0.05")
				require.Equal(t, no, a.Check())
				return sum
			}
		}
	}
	require.NoError(t, a.Check())
	require.EqualValues(t, 40<<20, drain(a))
	require.EqualValues(t, 40<<20, drain(b.Account(second, me)), "each lease has its own")
	_, err := b.Pay(t.Context(), me, 9, sigOf(1))
	require.NoError(t, err)
	require.NoError(t, a.Check())
	_, paid, err := a.Left()
	require.NoError(t, err)
	require.Equal(t, bought, paid)
	require.Equal(t, bought, drain(a)+drain(b.Account(second, me)), "what was paid is for all leases, once")
	require.EqualValues(t, Counts{FreeBytes: 80 << 20, PaidBytes: bought, Payments: 1, Received: 1_000, Lookups: 1}, b.Counts())

	// Another wallet of the same owner has what its leases have, and nothing of this one's.
	require.EqualValues(t, 40<<20, drain(b.Account(key(52), key(2))))

	var free *Account
	n, err := free.Take(7)
	require.NoError(t, errors.Join(err, free.Check()))
	require.Equal(t, 7, n)
}

// TestWhatWasNotRelayedComesBack when the book is closed; after that nothing is relayed.
func TestWhatWasNotRelayedComesBack(t *testing.T) {
	me := key(1)
	b := newBook(t, ledger{sigOf(1): landed(pays(me, 9, 50_000))}, func(o *Options) { o.Free = 100 })
	_, err := b.Pay(t.Context(), me, 9, sigOf(1))
	require.NoError(t, err)
	a := b.Account(key(50), me)
	n, err := a.Take(40)
	require.NoError(t, err)
	require.Equal(t, 40, n)
	other := b.Account(key(51), me)
	_, err = other.Take(1_000)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = a.Take(1)
	require.ErrorIs(t, err, errClosed)
	again := newBook(t, ledger{}, func(o *Options) { o.Path, o.Free = b.o.Path, 100 })
	for lease, want := range map[solana.PublicKey]uint64{key(50): 60, key(51): 0} {
		free, paid, err := again.Left(lease, me)
		require.NoError(t, err)
		require.Equal(t, want, free)
		require.EqualValues(t, GiB-900, paid)
	}
}

// TestManyConnectionsOfOneLease take from one account; not a byte more than there is.
func TestManyConnectionsOfOneLease(t *testing.T) {
	b := newBook(t, ledger{}, nil)
	a := b.Account(key(50), key(1))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sum uint64
	for range 8 {
		wg.Go(func() {
			for {
				n, err := a.Take(64 << 10)
				mu.Lock()
				sum += uint64(n)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 40<<20, sum)
}

func TestPricesAndBytes(t *testing.T) {
	for _, c := range []struct {
		amount, price market.USDC
		want          uint64
	}{
		{50_000, 50_000, GiB},
		{1, 50_000, 21_474},
		{0, 1, 0},
		{1, market.OneUSDC * 2_000, 0},
		{math.MaxUint64, 1, math.MaxUint64},
		{math.MaxUint64, math.MaxUint64, GiB},
	} {
		require.Equal(t, c.want, bytesFor(c.amount, c.price), "%d at %d", c.amount, c.price)
	}
	require.EqualValues(t, uint64(math.MaxUint64), add(math.MaxUint64, 1))
}

func TestABookIsOfOneGateway(t *testing.T) {
	b := newBook(t, ledger{}, nil)
	o := b.o
	_, err := Open(o)
	require.ErrorIs(t, err, boltstore.ErrLocked)
	require.NoError(t, b.Close())
	o.Gateway = key(3)
	_, err = Open(o)
	require.ErrorIs(t, err, boltstore.ErrOwner)
	require.ErrorContains(t, err, gateway.String())
	options.Without(b.o, []string{"Free"}, func(field string, o Options) {
		_, err := Open(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

// TestADamagedBalanceStopsTheTraffic: nothing is relayed on a balance that cannot be.
func TestADamagedBalanceStopsTheTraffic(t *testing.T) {
	b := newBook(t, ledger{}, func(o *Options) { o.Free = 0 })
	require.NoError(t, b.db.Update(func(tx *bolt.Tx) error {
		me := key(1)
		return boltstore.PutJSON(tx, bucketWallets, me[:], wallet{Bought: 1, Used: 2})
	}))
	n, err := b.Account(key(50), key(1)).Take(1)
	require.ErrorIs(t, err, boltstore.ErrCorrupt)
	require.Zero(t, n)
}
