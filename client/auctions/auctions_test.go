package auctions

import (
	"encoding/hex"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// shown is a view with a sealed order and its auction, which change may alter before.
func shown(change func(o *market.Order, a *market.Auction)) (*view.View, solana.PublicKey) {
	o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{7}}}
	o.MaxPrice, o.AwardDeadline = 1_300_000, 40
	o.Status = uint8(market.OrderOpen)
	a := &market.Auction{Meta: market.Meta{Address: market.AuctionAddress(o.Address)}}
	a.Order, a.CloseAt, a.RevealUntil = o.Address, 10, 20
	if change != nil {
		change(o, a)
	}
	v := view.New(view.Options{})
	v.Put(o.Address, o)
	v.Put(a.Address, a)
	return v, o.Address
}

func TestAnAuctionSaysWhereItIs(t *testing.T) {
	v, order := shown(nil)
	for now, want := range map[int64]string{
		10: "nodes commit to their bids", 11: "nodes reveal their bids", 20: "nodes reveal their bids", 21: "a keeper awards",
	} {
		got, err := Describe(v, order, now)
		require.NoError(t, err)
		require.Equal(t, want, got.State, now)
		require.Equal(t, "1.30", got.MaxPrice)
		require.EqualValues(t, 40, got.Deadline)
		require.Empty(t, got.Keeper)
		require.Equal(t, []string{}, got.Winners)
	}

	keeper, winner, bar := solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}
	awarded := func(o *market.Order, a *market.Auction) {
		a.Keeper, a.WinnerCount, a.AwardedAt, a.ChallengeUntil = keeper, 1, 22, 30
		a.Winners[0], a.BarNode, a.BarScore = winner, bar, 9
	}
	v, order = shown(awarded)
	got, err := Describe(v, order, 25)
	require.NoError(t, err)
	require.Equal(t, "awarded in part", got.State, "the order is still open")
	require.NotZero(t, got.Completable)
	require.Equal(t, []string{winner.String()}, got.Winners)
	require.Equal(t, keeper.String(), got.Keeper)
	require.Equal(t, bar.String(), got.Bar)
	require.EqualValues(t, 9, got.BarScore)

	v, order = shown(func(o *market.Order, a *market.Auction) {
		awarded(o, a)
		o.Status = uint8(market.OrderAwarded)
		a.BarNode = solana.PublicKey{}
	})
	got, err = Describe(v, order, 25)
	require.NoError(t, err)
	require.Equal(t, "awarded", got.State)
	require.Zero(t, got.Completable)
	require.Empty(t, got.Bar, "every bid won")

	v, order = shown(func(o *market.Order, _ *market.Auction) { o.Status = uint8(market.OrderAwarded) })
	got, err = Describe(v, order, 25)
	require.NoError(t, err)
	require.Equal(t, "over without an award", got.State)

	_, err = Describe(v, solana.PublicKey{8}, 25)
	require.Equal(t, service.CodeRefused, service.Classify(err).Code)
	require.ErrorContains(t, err, "has no auction (any more)")
}

func TestAnOrderIsFoundByItsBeginning(t *testing.T) {
	v, order := shown(nil)
	for _, text := range []string{order.String(), order.String()[:8], order.String()[:4] + "…"} {
		got, err := Find(v, text)
		require.NoError(t, err, text)
		require.Equal(t, order, got)
	}
	closed := solana.PublicKey{9} // an order that is closed is named in full
	got, err := Find(v, closed.String())
	require.NoError(t, err)
	require.Equal(t, closed, got)
	_, err = Find(v, closed.String()[:4])
	require.Equal(t, service.CodeUsage, service.Classify(err).Code)
}

// signedSet is a set of one bid of a keeper.
func signedSet(t *testing.T, keeper solana.PrivateKey, order solana.PublicKey) sealedbid.Set {
	t.Helper()
	bid := messages.JudgedBid{
		Bid: messages.Bid{
			Node: [32]byte{5}, Commitment: [32]byte{6}, Reveal: &messages.BidPrice{Price: 1_200_000},
			Acks: []messages.BidAck{{Keeper: [32]byte{1}, Stage: 1}, {Keeper: [32]byte{1}, Stage: 2}, {Keeper: [32]byte{2}, Stage: 1}},
		},
		Code: uint8(records.OutcomeOutbid), Score: 1_200_000, Reputation: 5_000,
	}
	set, err := sealedbid.SignSet(sealedbid.Auction{Domain: records.Domain{1}, Order: order, CloseAt: 10}, []messages.JudgedBid{bid}, 12, keeper)
	require.NoError(t, err)
	return set
}

// What --save writes, --bids reads; what is cut or of another kind is refused.
func TestPublishedBidsAreWrittenAndRead(t *testing.T) {
	keeper := solana.NewWallet().PrivateKey
	sets := []sealedbid.Set{signedSet(t, keeper, solana.PublicKey{7})}
	raw, err := EncodeSets(sets)
	require.NoError(t, err)
	back, err := ReadSets(raw)
	require.NoError(t, err)
	require.Equal(t, sets, back)
	none, err := EncodeSets(nil)
	require.NoError(t, err)
	back, err = ReadSets(none)
	require.NoError(t, err)
	require.Empty(t, back)
	for _, bad := range [][]byte{nil, []byte("hello"), raw[:len(raw)-1], append(append([]byte{}, raw...), 0)} {
		_, err := ReadSets(bad)
		require.Error(t, err)
	}
}

// Of what a node has stored, the bids in this auction count, and no bid that cannot be read is left out silently.
func TestStoredBidsOfOneAuction(t *testing.T) {
	order := solana.PublicKey{7}
	stored := func(order solana.PublicKey, closeAt int64) sealedbid.BidHistory {
		return sealedbid.BidHistory{
			Order: order.String(), Node: solana.PublicKey{5}.String(), CloseAt: closeAt, Price: 11, Signature: solana.Signature{4}.String(),
			Commitment: hex.EncodeToString(make([]byte, 32)), Salt: hex.EncodeToString(make([]byte, 32)),
		}
	}
	all := []sealedbid.BidHistory{stored(order, 10), stored(order, 11), stored(solana.PublicKey{8}, 10)}
	got, err := BidsOf(all, order, 10)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.EqualValues(t, 11, got[0].Reveal.Price)
	broken := stored(solana.PublicKey{8}, 10)
	broken.Salt = "zz"
	_, err = BidsOf(append(all, broken), order, 10)
	require.ErrorIs(t, err, sealedbid.ErrSet)
}

// The bids of a replay are those that the awarding keeper has published, with prices where they were revealed.
func TestAReplayShowsTheAwardingKeepersBids(t *testing.T) {
	order := solana.PublicKey{7}
	awarding, other := solana.NewWallet().PrivateKey, solana.NewWallet().PrivateKey
	a := &audit.Auction{Order: order, CloseAt: 10, Lives: 1, Awards: []audit.Award{{Node: solana.PublicKey{6}, Keeper: awarding.PublicKey()}}}
	require.Equal(t, awarding.PublicKey(), a.Keeper())
	out := DescribeReplay(a, []sealedbid.Set{signedSet(t, other, order), signedSet(t, awarding, order)}, chain.Explorer{})
	require.Equal(t, awarding.PublicKey().String(), out.Keeper)
	require.Len(t, out.Awards, 1)
	require.Len(t, out.Bids, 1)
	require.Equal(t, "1.20", out.Bids[0].Price)
	require.Equal(t, 2, out.Bids[0].Acks, "each keeper counts once")
	require.Contains(t, out.Bids[0].Outcome, "outbid")

	out = DescribeReplay(a, []sealedbid.Set{signedSet(t, other, order)}, chain.Explorer{})
	require.Equal(t, []Bid{}, out.Bids, "another keeper's bids are not the awarding one's")
	require.Equal(t, []Violation{}, out.Violations)
}

// Nothing is proven on chain that the chain cannot show.
func TestWhatCannotBeProvenIsRefused(t *testing.T) {
	v, order := shown(nil)
	a := &audit.Auction{Order: order, CloseAt: 10}
	_, err := Prove(v, market.Market{}, a, solana.PublicKey{1}, 25)
	require.Equal(t, service.CodeRefused, service.Classify(err).Code)
	require.ErrorContains(t, err, "is a bid that the keeper left out")
	a.Violations = []audit.Violation{{Who: "keeper", What: "left a bid out", Omitted: &messages.Bid{Node: [32]byte{5}}}}
	_, err = Prove(v, market.Market{}, a, solana.PublicKey{1}, 25)
	require.ErrorContains(t, err, "is closed", "no award was made")
}
