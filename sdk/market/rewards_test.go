package market

import (
	"math"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
)

// The figures are those of program/tests/tests/rewards_buy_back.rs.
func TestBuyBackCost(t *testing.T) {
	const since = 1_800_000_000
	for name, c := range map[string]struct {
		waiting uint64
		price   USDC
		after   int64
		want    GNT
		err     error
	}{
		"at first, half of the price":         {8_000, OneUSDC, 0, 16_000_000, nil},
		"half a day later":                    {8_000, OneUSDC, secondsPerDay / 2, 6_400_000, nil},
		"a day later":                         {8_000, OneUSDC, secondsPerDay, 4_000_000, nil},
		"for ever after":                      {8_000, OneUSDC, 101 * secondsPerDay, 4_000_000, nil},
		"rounded up":                          {8_000, 3 * OneUSDC, 0, 5_333_334, nil},
		"a clock behind the start":            {8_000, OneUSDC, -500, 16_000_000, nil},
		"nothing waits":                       {0, OneUSDC, 0, 0, nil},
		"a second is too little for a basis":  {8_000, OneUSDC, 5, 16_000_000, nil},
		"15,000 basis points in 86,400 s":     {8_000, OneUSDC, 6, 15_996_801, nil}, // 5,001 of them
		"all that there can be":               {math.MaxUint64, USDC(math.MaxUint64), 0, 2_000_000_000, nil},
		"more than there are stake tokens":    {math.MaxUint64, OneUSDC, 0, 0, ErrOverflow},
		"a price that governance cannot give": {8_000, 0, 0, 0, ErrOverflow},
	} {
		r := Rewards{}
		r.BuyBack, r.BuyBackSince = c.waiting, since
		got, err := r.BuyBackCost(c.price, since+c.after)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.want, got, name)
	}
}

// Waiting never makes it dearer, and what is burned is always worth the offer.
func TestBuyBackFallsAndIsRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rewards{}
		r.BuyBack = rapid.Uint64Range(1, 1<<50).Draw(t, "waiting")
		price := USDC(rapid.Uint64Range(1_000, 1<<40).Draw(t, "price"))
		early := rapid.Int64Range(0, 2*secondsPerDay).Draw(t, "early")
		late := early + rapid.Int64Range(0, secondsPerDay).Draw(t, "more")
		before, err1 := r.BuyBackCost(price, early)
		after, err2 := r.BuyBackCost(price, late)
		if err1 != nil || err2 != nil {
			if err1 == nil {
				t.Fatalf("it fits at %d and not at %d: %v", early, late, err2)
			}
			return
		}
		if after > before || after == 0 {
			t.Fatalf("%d at %d, then %d at %d", before, early, after, late)
		}
	})
}

// The figures are those of program/tests/tests/rewards_claim.rs.
func TestShare(t *testing.T) {
	const unit = 1_000_000_000
	report := func() Report {
		r := Report{}
		r.Reward, r.RewardLeft, r.RewardWeight, r.CreatedAt = 12_000, 12_000, 6*unit, 100
		r.RewardVoters[0] = 0b111
		return r
	}
	keeper := func(index uint16, weight uint64) Keeper {
		k := Keeper{}
		k.Index, k.Weight, k.RegisteredAt = index, weight, 100
		return k
	}
	for name, c := range map[string]struct {
		change func(*Report, *Keeper)
		weight uint64
		want   USDC
	}{
		"a sixth":                           {nil, unit, 2_000},
		"a third":                           {nil, 2 * unit, 4_000},
		"a half":                            {nil, 3 * unit, 6_000},
		"the only voter":                    {func(r *Report, _ *Keeper) { r.RewardWeight = unit }, unit, 12_000},
		"rounded down":                      {func(r *Report, _ *Keeper) { r.Reward = 11_999 }, unit, 1_999},
		"never more than is left":           {func(r *Report, _ *Keeper) { r.RewardLeft = 1_999 }, unit, 1_999},
		"even if it weighs more by now":     {nil, 100 * unit, 12_000},
		"a weight beyond any":               {func(r *Report, _ *Keeper) { r.Reward, r.RewardWeight = math.MaxUint64, 1 }, math.MaxUint64, 12_000},
		"it has left":                       {nil, 0, 0},
		"it did not vote, or has claimed":   {func(r *Report, _ *Keeper) { r.RewardVoters[0] = 0b101 }, unit, 0},
		"it became active after the report": {func(_ *Report, k *Keeper) { k.ActiveSince = 101 }, unit, 0},
		"it became active with the report":  {func(_ *Report, k *Keeper) { k.ActiveSince = 100 }, unit, 0},
		"nothing was set aside":             {func(r *Report, _ *Keeper) { r.Reward, r.RewardLeft, r.RewardWeight = 0, 0, 0 }, unit, 0},
		"an index that there is no bit for": {func(_ *Report, k *Keeper) { k.Index = MaxKeepers }, unit, 0},
	} {
		r, k := report(), keeper(1, c.weight)
		if c.change != nil {
			c.change(&r, &k)
		}
		require.Equal(t, c.want, r.Share(&k), name)
	}
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		up, down, total uint64
		quorum          uint16
		want            Verdict
	}{
		"nobody voted":                   {0, 0, 100, 6_667, VerdictNone},
		"nobody voted, nobody could":     {0, 0, 0, 6_667, VerdictNone},
		"just below":                     {66, 0, 100, 6_667, VerdictNone},
		"just above":                     {67, 0, 100, 6_667, VerdictUpheld},
		"exactly":                        {6_667, 0, 10_000, 6_667, VerdictUpheld},
		"rejected":                       {10, 67, 100, 6_667, VerdictRejected},
		"both sides of half a quorum":    {50, 50, 100, 5_000, VerdictUpheld},
		"all of the largest weight":      {0, math.MaxUint64, math.MaxUint64, 10_000, VerdictRejected},
		"all but one of the largest":     {math.MaxUint64 - 1, 0, math.MaxUint64, 10_000, VerdictNone},
		"a quorum that is no multiple":   {0, 3, 4, 7_501, VerdictNone},
		"one vote where nobody was told": {1, 0, 0, 6_667, VerdictUpheld},
	} {
		d := Dispute{}
		d.UpheldWeight, d.RejectedWeight, d.TotalWeight, d.QuorumBps = c.up, c.down, c.total, c.quorum
		require.Equal(t, c.want, d.Verdict(), name)
	}
}

func TestWhoMayDisputeAndVote(t *testing.T) {
	l := Lease{}
	l.Status = uint8(LeaseAwarded)
	require.ErrorIs(t, l.CanOpenDispute(), CodeWrongLeaseStatus)
	for _, s := range []LeaseStatus{LeaseRunning, LeaseFailed, LeaseEnded} {
		l.Status = uint8(s)
		require.NoError(t, l.CanOpenDispute())
	}
	l.Disputed = 1
	require.ErrorIs(t, l.CanOpenDispute(), bindings.ErrorCodeAlreadyDisputed)

	for name, c := range map[string]struct {
		change func(*Dispute, *Keeper)
		now    int64
		want   error
	}{
		"in time":                   {func(*Dispute, *Keeper) {}, 299, nil},
		"too late":                  {func(*Dispute, *Keeper) {}, 300, CodeTooLate},
		"pending":                   {func(_ *Dispute, k *Keeper) { k.Status = uint8(KeeperPending) }, 250, CodeKeeperNotActive},
		"leaving":                   {func(_ *Dispute, k *Keeper) { k.Status = uint8(KeeperExiting) }, 250, CodeKeeperNotActive},
		"active in the same second": {func(_ *Dispute, k *Keeper) { k.ActiveSince = 200 }, 250, CodeKeeperNotActive},
		"has upheld it":             {func(d *Dispute, _ *Keeper) { d.UpheldVoters[1] = 1 << 1 }, 250, CodeAlreadyVoted},
		"has rejected it":           {func(d *Dispute, _ *Keeper) { d.RejectedVoters[1] = 1 << 1 }, 250, CodeAlreadyVoted},
		"another has":               {func(d *Dispute, _ *Keeper) { d.RejectedVoters[1] = 1 << 2 }, 250, nil},
	} {
		d, k := Dispute{}, Keeper{}
		d.OpenedAt, d.ClosesAt = 200, 300
		k.Status, k.ActiveSince, k.Index = uint8(KeeperActive), 199, 9
		c.change(&d, &k)
		require.ErrorIs(t, d.CanVote(&k, c.now), c.want, name)
	}
}

// A lease of a redundant job waits for the comparison; the one that lost is closed without being paid.
func TestCanCloseWithOutputs(t *testing.T) {
	customer := solana.PublicKey{1}
	for name, c := range map[string]struct {
		state   OutputState
		claimed uint32
		now     int64
		want    error
		owed    uint32
	}{
		"not redundant, unpaid":          {OutputNone, 50, 210, CodeUnsettled, 50},
		"awaited":                        {OutputWanted, 0, 10_000, bindings.ErrorCodeWrongOutputState, 0},
		"committed":                      {OutputCommitted, 50, 10_000, bindings.ErrorCodeWrongOutputState, 0},
		"shown":                          {OutputRevealed, 50, 10_000, bindings.ErrorCodeWrongOutputState, 0},
		"accepted and unpaid":            {OutputAccepted, 50, 210, CodeUnsettled, 50},
		"accepted, nobody settled it":    {OutputAccepted, 50, 341, nil, 50},
		"accepted late":                  {OutputAccepted, 50, 340, CodeUnsettled, 50},
		"rejected: more may be claimed":  {OutputRejected, 50, 210, CodeUnsettled, 0},
		"rejected: nothing is unsettled": {OutputRejected, 50, 221, nil, 0},
		"a state of a later program":     {OutputState(9), 0, 10_000, bindings.ErrorCodeWrongOutputState, 0},
	} {
		l := Lease{}
		l.Lease.Customer, l.Status, l.StartedAt, l.EndedAt, l.FundedUntil = customer, uint8(LeaseEnded), 100, 200, 1_000
		l.SettleSecs, l.Rating, l.VerifiedSecs, l.Output = 20, 5, c.claimed, uint8(c.state)
		if c.state == OutputAccepted {
			l.ResolvedAt = 300
		}
		require.ErrorIs(t, l.CanClose(customer, &Node{}, &Params{PeriodSecs: 5}, c.now), c.want, name)
		require.Equal(t, c.owed, l.UnsettledSecs(c.now), name)
	}
	require.Equal(t, "accepted", OutputAccepted.String())
	require.Equal(t, "output state 9", OutputState(9).String())
}

func TestOutputsCommitted(t *testing.T) {
	o := Order{}
	o.NodesWanted, o.NodesAwarded, o.Outputs, o.OutputsBy = 3, 2, 1, 1_000
	require.False(t, o.OutputsCommitted(1_000))
	require.True(t, o.OutputsCommitted(1_001))
	o.Outputs = 2 // the third did not start
	require.True(t, o.OutputsCommitted(1_000))
}

func TestDisputeKinds(t *testing.T) {
	for _, k := range []DisputeKind{DisputeNotDelivered, DisputeBadOutput} {
		got, err := ParseDisputeKind(k.String())
		require.NoError(t, err)
		require.Equal(t, k, got)
	}
	for _, text := range []string{"", "late", "kind 0"} {
		_, err := ParseDisputeKind(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "kind 7", DisputeKind(7).String())
	require.Equal(t, "upheld", VerdictUpheld.String())
}
