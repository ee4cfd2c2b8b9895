package txm

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Blocks take nobody who bids little: what is offered grows with each transaction that died, never beyond the cap.
func TestTheFeeIsBidUpUntilTheTransactionLands(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	var bids []chain.MicroLamports
	r.chain.drop = func(int) bool { mu.Lock(); defer mu.Unlock(); return bids[len(bids)-1] < 1_500 }
	m := r.manager(func(o *Options) {
		o.Fees = Fees{Floor: 100, Cap: 2_500, Most: 10_000}
		o.OnStateChanged = func(e Entry) {
			mu.Lock()
			defer mu.Unlock()
			if e.State == StateSent {
				bids = append(bids, e.Current.Price)
			}
		}
	})
	res, err := m.Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 1, r.chain.effect("a"))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, chain.MicroLamports(100), bids[0], "the floor is above what blocks asked")
	require.Equal(t, chain.MicroLamports(2_000), bids[len(bids)-1], "twice as much each time: %v", bids)
	require.Equal(t, len(bids), res.Attempts)
	t.Logf("bids, micro-lamports per compute unit: %v", bids)
}

func TestFeesAreBounded(t *testing.T) {
	f := Fees{Floor: 1_000, Cap: 1_000_000, Most: 50_000}
	require.EqualValues(t, 1_000, f.bid(Entry{}, 0))
	require.EqualValues(t, 7_000, f.bid(Entry{}, 7_000))
	require.EqualValues(t, 1_000_000, f.bid(Entry{}, 5_000_000))
	require.EqualValues(t, 1_000, f.bid(Entry{Current: &Attempt{Price: 900_000}}, 0), "a transaction that was refused is not outbid")
	require.EqualValues(t, 8_000, f.bid(Entry{Bids: 1, Current: &Attempt{Price: 4_000}}, 0))
	require.EqualValues(t, 1_000_000, f.bid(Entry{Bids: 9, Current: &Attempt{Price: 900_000}}, 0))
	require.EqualValues(t, 1_000, Fees{Cap: 9_000}.bid(Entry{Bids: 1, Current: &Attempt{}}, 0), "twice nothing is nothing")

	price, err := f.fit(1_000_000, 1_400_000, 2)
	require.NoError(t, err)
	require.LessOrEqual(t, price.Cost(1_400_000), chain.Lamports(40_000))
	require.Greater(t, price, chain.MicroLamports(28_000))
	price, err = f.fit(2_000, 200_000, 1)
	require.NoError(t, err)
	require.EqualValues(t, 2_000, price)
	_, err = f.fit(0, 1, 11)
	require.ErrorIs(t, err, ErrFees)
	require.ErrorContains(t, err, "--max-fee")

	m := newRig(t).manager(func(o *Options) { o.Fees = Fees{Cap: 1, Most: 4_999} })
	_, err = m.Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.ErrorIs(t, err, ErrFees)
}

// A receipt has two signatures that the runtime checks for the program and charges for: --max-fee counts them.
func TestSignaturesOfAReceiptCount(t *testing.T) {
	receipt := do("a")
	for range 2 {
		sig, err := testKey.Sign([]byte("receipt"))
		require.NoError(t, err)
		check, err := ix.VerifySignature(testKey.PublicKey(), sig, []byte("receipt"))
		require.NoError(t, err)
		receipt = append(receipt, check)
	}
	for most, refused := range map[chain.Lamports]bool{14_999: true, 15_000: false} {
		r := newRig(t)
		m := r.manager(func(o *Options) { o.Fees = Fees{Cap: 1, Most: most} })
		_, err := m.Submit(ctxFor(t), Intent{ID: "x", Instructions: receipt})
		u, unsigned := m.Build(ctxFor(t), Intent{ID: "y", Instructions: receipt})
		dry, dryErr := m.DryRun(ctxFor(t), Intent{ID: "z", Instructions: receipt})
		if refused {
			for _, err := range []error{err, unsigned, dryErr} {
				require.ErrorIs(t, err, ErrFees)
				require.ErrorContains(t, err, "3 signatures cost 0.000015 SOL")
			}
			require.Zero(t, r.chain.effect("a"))
			continue
		}
		require.NoError(t, err)
		require.NoError(t, unsigned)
		require.NoError(t, dryErr)
		require.Equal(t, most, u.Fee)
		require.Equal(t, most, dry.Fee)
	}
}

// Elsewhere than on this machine a transaction is sent again every two seconds: a blockhash lives for 30 to 38.
func TestATransactionIsSentAgainEveryTwoSeconds(t *testing.T) {
	o := Options{RPC: remote{newFakeChain()}, Store: &Store{}, Keys: Keys{}}
	require.NoError(t, o.defaults())
	require.Equal(t, 2*time.Second, o.Rebroadcast)
	require.Equal(t, DefaultFees(), o.Fees)
}

type remote struct{ *fakeChain }

func (remote) Local() bool { return false }
