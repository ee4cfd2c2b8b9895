package market_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// vectors reads the cases of a file that the Rust tests write. A missing file is a failure: without it nothing keeps
// the two languages equal.
func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "idl", "vectors", file))
	require.NoError(t, err)
	var doc struct{ Cases []T }
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotEmpty(t, doc.Cases)
	return doc.Cases
}

// equal compares a result with the vector's, where null stands for an overflow.
func equal[T ~uint64](t *testing.T, want *uint64, got T, err error, at int) {
	t.Helper()
	if want == nil {
		require.ErrorIs(t, err, market.ErrOverflow, "case %d", at)
		return
	}
	require.NoError(t, err, "case %d", at)
	require.Equal(t, *want, uint64(got), "case %d", at)
}

func TestVectorsCost(t *testing.T) {
	for i, c := range vectors[struct {
		Price   uint64
		Gpus    uint8
		Seconds uint32
		Cost    *uint64
	}](t, "cost.json") {
		got, err := market.Cost(market.PricePerHour(c.Price), c.Gpus, c.Seconds)
		equal(t, c.Cost, got, err, i)
	}
}

func TestVectorsFee(t *testing.T) {
	for i, c := range vectors[struct {
		Amount uint64
		Bps    uint16
		Fee    *uint64
	}](t, "fee.json") {
		got, err := market.Fee(market.USDC(c.Amount), c.Bps)
		equal(t, c.Fee, got, err, i)
	}
}

func TestVectorsScore(t *testing.T) {
	for i, c := range vectors[struct {
		Price      uint64
		Reputation uint16 `json:"reputation_bps"`
		Guarantee  uint16 `json:"guarantee_bps"`
		Penalty    uint16 `json:"penalty_bps"`
		Discount   uint16 `json:"discount_bps"`
		Score      *uint64
	}](t, "score.json") {
		require.Equal(t, c.Penalty, market.PenaltyBPS(c.Reputation), "case %d", i)
		require.Equal(t, c.Discount, market.DiscountBPS(c.Guarantee), "case %d", i)
		got, err := market.Score(market.PricePerHour(c.Price), c.Reputation, c.Guarantee)
		equal(t, c.Score, got, err, i)
	}
}

func TestVectorsGuarantee(t *testing.T) {
	for i, c := range vectors[struct {
		Up        uint64 `json:"up_secs"`
		Counted   uint64 `json:"counted_secs"`
		Guarantee uint16 `json:"guarantee_bps"`
		Kept      bool
	}](t, "guarantee.json") {
		require.Equal(t, c.Kept, market.GuaranteeKept(c.Up, c.Counted, c.Guarantee), "case %d", i)
	}
}

func TestVectorsReputation(t *testing.T) {
	for i, c := range vectors[struct {
		Uptime     uint16 `json:"uptime_bps"`
		Completed  uint64 `json:"fees_completed"`
		Failed     uint64 `json:"fees_failed"`
		Sum        uint64 `json:"rating_sum"`
		Weight     uint64 `json:"rating_weight"`
		Days       uint8
		Dispute    uint16 `json:"dispute_bps"`
		LostAt     int64  `json:"dispute_lost_at"`
		Now        int64
		Reputation uint16 `json:"reputation_bps"`
	}](t, "reputation.json") {
		got := market.Reputation(market.ReputationInputs{
			UptimeBPS: c.Uptime, FeesCompleted: c.Completed, FeesFailed: c.Failed,
			RatingSum: c.Sum, RatingWeight: c.Weight, Days: c.Days, DisputeBPS: c.Dispute, DisputeLostAt: c.LostAt,
		}, c.Now)
		require.Equal(t, c.Reputation, got, "case %d", i)
	}
}

func TestVectorsFailureWeight(t *testing.T) {
	for i, c := range vectors[struct{ Fee, Weight uint64 }](t, "failure_weight.json") {
		require.Equal(t, c.Weight, market.FailureWeight(market.USDC(c.Fee)), "case %d", i)
	}
}

func TestVectorsNextUptime(t *testing.T) {
	for i, c := range vectors[struct {
		Old    uint16 `json:"old_bps"`
		Up     uint32 `json:"up_secs"`
		Period uint32 `json:"period_secs"`
		Next   uint16 `json:"next_bps"`
	}](t, "next_uptime.json") {
		require.Equal(t, c.Next, market.NextUptimeBPS(c.Old, c.Up, c.Period), "case %d", i)
	}
}

func TestVectorsSlashing(t *testing.T) {
	for i, c := range vectors[struct {
		Amount, Harm         uint64
		FinderBps            uint16 `json:"finder_bps"`
		Burned, Finder, Pool uint64
		Claimed              uint64
		BurnedThen           uint64 `json:"burned_then"`
	}](t, "slash_split.json") {
		got, err := market.SplitSlash(market.GNT(c.Amount), c.FinderBps)
		require.NoError(t, err, "case %d", i)
		want := market.Split{Burned: market.GNT(c.Burned), Finder: market.GNT(c.Finder), Pool: market.GNT(c.Pool)}
		require.Equal(t, want, got, "case %d", i)
		want.Burned, want.Pool = market.GNT(c.BurnedThen), market.GNT(c.Claimed)
		require.Equal(t, want, got.Claimed(market.GNT(c.Harm)), "case %d", i)
		require.Equal(t, market.Split{Burned: got.Burned + got.Finder, Pool: got.Pool}, got.WithoutFinder(), "case %d", i)
	}
	for i, c := range vectors[struct {
		Harm       uint64
		StakePrice uint64 `json:"stake_price"`
		Stake      *uint64
	}](t, "harm.json") {
		got, err := market.HarmInStake(market.USDC(c.Harm), c.StakePrice)
		equal(t, c.Stake, got, err, i)
	}
}

func TestVectorsAddresses(t *testing.T) {
	for i, c := range vectors[struct {
		Name    string
		Inputs  map[string]json.RawMessage
		Address string
	}](t, "pdas.json") {
		key := func(name string) solana.PublicKey {
			var s string
			require.NoError(t, json.Unmarshal(c.Inputs[name], &s), "case %d: %s", i, name)
			k, err := solana.PublicKeyFromBase58(s)
			require.NoError(t, err, "case %d: %s", i, name)
			return k
		}
		num := func(name string) uint64 {
			var n uint64
			require.NoError(t, json.Unmarshal(c.Inputs[name], &n), "case %d: %s", i, name)
			return n
		}
		var got solana.PublicKey
		switch c.Name {
		case "market":
			got = market.MarketAddress()
		case "fee_vault":
			got = market.FeeVaultAddress()
		case "gpu_model":
			got = market.ModelAddress(uint16(num("id")))
		case "provider":
			got = market.ProviderAddress(key("wallet"))
		case "node":
			got = market.NodeAddress(key("provider"), key("node_key"))
		case "device":
			var s string
			require.NoError(t, json.Unmarshal(c.Inputs["identity"], &s))
			got = market.DeviceAddress([32]byte(unhex(t, s)))
		case "keeper":
			got = market.KeeperAddress(key("wallet"))
		case "stake_vault":
			got = market.StakeVaultAddress(key("owner"))
		case "credits":
			got = market.CreditsAddress(key("customer"))
		case "credits_vault":
			got = market.CreditsVaultAddress(key("credits"))
		case "order":
			got = market.OrderAddress(key("customer"), num("nonce"))
		case "auction":
			got = market.AuctionAddress(key("order"))
		case "lease":
			got = market.LeaseAddress(key("order"), key("node"))
		case "report":
			got = market.ReportAddress(num("period"))
		case "fraud_proof":
			got = market.FraudProofAddress(key("node"), key("finder"))
		case "fault":
			got = market.FaultAddress(key("node"), key("lease"), num("period"))
		default:
			t.Fatalf("case %d: unknown address %q", i, c.Name)
		}
		require.Equal(t, c.Address, got.String(), "case %d: %s", i, c.Name)
	}
}

func TestVectorsReceipt(t *testing.T) {
	for i, c := range vectors[struct {
		Domain, Lease     string
		StartedAt         int64 `json:"started_at"`
		Sequence, Seconds uint64
		Bytes             string
		Signer            string
		Signature         string
	}](t, "receipt.json") {
		r := records.Receipt{
			Domain: records.Domain(unhex(t, c.Domain)), Lease: solana.MustPublicKeyFromBase58(c.Lease),
			StartedAt: c.StartedAt, Sequence: c.Sequence, Cumulative: c.Seconds,
		}
		b := r.Encode()
		require.Equal(t, c.Bytes, hex.EncodeToString(b[:]), "case %d", i)
		require.NoError(t, r.Verify(solana.MustPublicKeyFromBase58(c.Signer), solana.SignatureFromBytes(unhex(t, c.Signature))), "case %d", i)
	}
}

func TestVectorsManifest(t *testing.T) {
	for i, c := range vectors[struct {
		Domain            string
		Period            uint64
		Count, Size       uint32
		Digest            string
		Bytes, Other      string
		Equivocates       bool
		Signer, Signature string
	}](t, "manifest.json") {
		m := records.Manifest{
			Domain: records.Domain(unhex(t, c.Domain)), Period: records.Period(c.Period), Count: c.Count, Size: c.Size,
			Digest: [32]byte(unhex(t, c.Digest)),
		}
		b := m.Encode()
		require.Equal(t, c.Bytes, hex.EncodeToString(b[:]), "case %d", i)
		require.NoError(t, m.Verify(solana.MustPublicKeyFromBase58(c.Signer), solana.SignatureFromBytes(unhex(t, c.Signature))), "case %d", i)
		other, err := records.DecodeManifest(unhex(t, c.Other))
		require.NoError(t, err, "case %d", i)
		require.Equal(t, c.Equivocates, market.ManifestsEquivocate(m, other), "case %d", i)
		require.Equal(t, c.Equivocates, market.ManifestsEquivocate(other, m), "case %d", i)
	}
	raw, err := os.ReadFile("../../idl/vectors/manifest.json")
	require.NoError(t, err)
	var doc struct{ Refused string }
	require.NoError(t, json.Unmarshal(raw, &doc))
	_, err = records.DecodeManifest(unhex(t, doc.Refused))
	require.ErrorIs(t, err, records.ErrTag)
}

func TestVectorsBid(t *testing.T) {
	for i, c := range vectors[struct {
		Domain, Order, Node string
		CloseAt             int64 `json:"close_at"`
		Price               uint64
		Salt, Commitment    string
		Message             string
		Signer, Signature   string
	}](t, "bid.json") {
		b := records.Bid{
			Domain: records.Domain(unhex(t, c.Domain)), Order: solana.MustPublicKeyFromBase58(c.Order),
			Node: solana.MustPublicKeyFromBase58(c.Node), CloseAt: c.CloseAt, Price: c.Price, Salt: [32]byte(unhex(t, c.Salt)),
		}
		commitment := b.Commitment()
		require.Equal(t, c.Commitment, hex.EncodeToString(commitment[:]), "case %d", i)
		message := records.CommitmentMessage(commitment)
		require.Equal(t, c.Message, hex.EncodeToString(message[:]), "case %d", i)
		require.NoError(t, b.Verify(solana.MustPublicKeyFromBase58(c.Signer), solana.SignatureFromBytes(unhex(t, c.Signature))), "case %d", i)
	}
	for i, c := range vectors[struct {
		Score         uint64
		ReputationBPS uint16 `json:"reputation_bps"`
		GuaranteeBPS  uint16 `json:"guarantee_bps"`
		Price         *uint64
	}](t, "price_of.json") {
		got, err := market.PriceOf(c.Score, c.ReputationBPS, c.GuaranteeBPS)
		equal(t, c.Price, got, err, i)
	}
}

func TestVectorsLeavesAndProofs(t *testing.T) {
	for i, c := range vectors[struct{ Bytes, Hash string }](t, "leaf.json") {
		leaf, err := records.DecodeLeaf(unhex(t, c.Bytes))
		require.NoError(t, err, "case %d", i)
		b := leaf.Encode()
		hash := records.LeafHash(b[:])
		require.Equal(t, c.Hash, hex.EncodeToString(hash[:]), "case %d", i)
	}
	for i, c := range vectors[struct {
		Leaves []string
		Root   string
		Proofs []struct {
			Path     uint32
			Siblings []string
		}
	}](t, "merkle.json") {
		hashes := make([]records.Hash, len(c.Leaves))
		for n, l := range c.Leaves {
			hashes[n] = records.LeafHash(unhex(t, l))
		}
		tree := records.NewTree(hashes)
		root := tree.Root()
		require.Equal(t, c.Root, hex.EncodeToString(root[:]), "case %d", i)
		for n, want := range c.Proofs {
			p, err := tree.Proof(uint32(n))
			require.NoError(t, err)
			require.Equal(t, want.Path, p.Path(), "case %d, leaf %d", i, n)
			var siblings []string
			for _, s := range p.Siblings {
				siblings = append(siblings, hex.EncodeToString(s[:]))
			}
			require.Equal(t, strings.Join(want.Siblings, " "), strings.Join(siblings, " "), "case %d, leaf %d", i, n)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestVectorsDeviceRoot(t *testing.T) {
	for i, c := range vectors[struct {
		Devices []string
		Root    string
	}](t, "device_root.json") {
		devices := make([][32]byte, len(c.Devices))
		for j, d := range c.Devices {
			devices[len(devices)-1-j] = [32]byte(unhex(t, d)) // in any order
		}
		root := market.DeviceRoot(devices)
		require.Equal(t, c.Root, hex.EncodeToString(root[:]), "case %d", i)
	}
	require.Zero(t, market.DeviceRoot(nil))
}

func TestVectorsStandingTier(t *testing.T) {
	for i, c := range vectors[struct {
		Tier, Standing uint8
		Expiry, Now    int64
	}](t, "standing_tier.json") {
		require.Equal(t, c.Standing, market.StandingTier(c.Tier, c.Expiry, c.Now), "case %d", i)
	}
}

func TestVectorsRevealAck(t *testing.T) {
	for i, c := range vectors[struct {
		Commitment, Message, Keeper, Signature string
		ReceivedAt                             int64 `json:"received_at"`
	}](t, "reveal_ack.json") {
		ack := records.Ack{Stage: records.AckReveal, Commitment: records.Hash(unhex(t, c.Commitment)), ReceivedAt: c.ReceivedAt}
		raw, err := ack.Encode()
		require.NoError(t, err)
		require.Equal(t, c.Message, hex.EncodeToString(raw[:]), "case %d", i)
		require.NoError(t, ack.Verify(solana.MustPublicKeyFromBase58(c.Keeper), solana.SignatureFromBytes(unhex(t, c.Signature))), "case %d", i)
	}
}
