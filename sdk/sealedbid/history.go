package sealedbid

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// BidHistory is what a node stores of one of its bids, in JSON: what `gantry-agent bids --json` prints and `gantry
// auction replay
// --acks` reads.
type BidHistory struct {
	Order       string           `json:"order"`
	Node        string           `json:"node"`
	CloseAt     int64            `json:"closeAt"`
	RevealUntil int64            `json:"revealUntil"`
	BidAt       time.Time        `json:"bidAt"`
	Price       uint64           `json:"priceMicroUsdc"`
	MaxPrice    uint64           `json:"maxPriceMicroUsdc"`
	Salt        string           `json:"salt"`
	Commitment  string           `json:"commitment"`
	Signature   string           `json:"signature"`
	Acks        []HistoryAck     `json:"acknowledgements"`
	Refusals    []HistoryOutcome `json:"refusals"`
	Outcome     *HistoryOutcome  `json:"outcome,omitempty"`
	Over        bool             `json:"over"`
	Note        string           `json:"note,omitempty"`
}

// HistoryAck is a keeper's acknowledgement.
type HistoryAck struct {
	Keeper     string `json:"keeper"`
	Stage      uint8  `json:"stage"` // 1 commitment, 2 reveal
	ReceivedAt int64  `json:"receivedAt"`
	Signature  string `json:"signature"`
}

// HistoryOutcome is what a keeper signed about the bid, with the signed bytes.
type HistoryOutcome struct {
	Keeper    string `json:"keeper"`
	Reason    string `json:"reason"`
	Code      uint8  `json:"code"`
	Price     uint64 `json:"priceMicroUsdc,omitempty"`
	Detail    string `json:"detail"`
	Root      string `json:"bidsRoot,omitempty"`
	Statement string `json:"statement"`
	Signature string `json:"signature"`
}

// DescribeOutcome puts an outcome into words. Error: those of records.DecodeOutcome.
func DescribeOutcome(keeper solana.PublicKey, statement []byte, sig solana.Signature) (HistoryOutcome, error) {
	o, err := records.DecodeOutcome(statement)
	if err != nil {
		return HistoryOutcome{}, err
	}
	w := HistoryOutcome{
		Keeper: keeper.String(), Reason: o.Code.String(), Code: uint8(o.Code), Price: o.Price, Detail: Explain(o),
		Statement: hex.EncodeToString(statement), Signature: sig.String(),
	}
	if o.Root != (records.Hash{}) {
		w.Root = hex.EncodeToString(o.Root[:])
	}
	return w, nil
}

// Explain says in a sentence what an outcome means.
func Explain(o records.Outcome) string {
	switch o.Code {
	case records.OutcomeOutbid:
		if o.Price > 0 {
			return fmt.Sprintf("outbid: a bid of at most %s USDC per GPU-hour would have won", market.PricePerHour(o.Price))
		}
	case records.OutcomeUnsuitable:
		if o.Requirement != 0 {
			return fmt.Sprintf("the node does not satisfy the order: %s", market.Code(o.Requirement).Name())
		}
	}
	return o.Code.String()
}

// Bid reads the bid back, with the acknowledgements. It checks nothing. Error: ErrSet.
func (e *BidHistory) Bid() (order solana.PublicKey, b messages.Bid, err error) {
	fail := func(what string) (solana.PublicKey, messages.Bid, error) {
		return order, b, fmt.Errorf("%s of the bid cannot be read: %w", what, ErrSet)
	}
	if order, err = solana.PublicKeyFromBase58(e.Order); err != nil {
		return fail("the order")
	}
	node, err := solana.PublicKeyFromBase58(e.Node)
	if err != nil {
		return fail("the node")
	}
	sig, err := solana.SignatureFromBase58(e.Signature)
	if err != nil {
		return fail("the signature")
	}
	b = messages.Bid{Node: node, Signature: sig, Reveal: &messages.BidPrice{Price: e.Price}}
	if !unhex(e.Commitment, &b.Commitment) {
		return fail("the commitment")
	}
	if !unhex(e.Salt, &b.Reveal.Salt) {
		return fail("the salt")
	}
	for _, a := range e.Acks {
		keeper, err1 := solana.PublicKeyFromBase58(a.Keeper)
		sig, err2 := solana.SignatureFromBase58(a.Signature)
		if err1 != nil || err2 != nil {
			return fail("an acknowledgement")
		}
		b.Acks = append(b.Acks, messages.BidAck{Keeper: keeper, Stage: a.Stage, ReceivedAt: a.ReceivedAt, Signature: sig})
	}
	return order, b, nil
}

func unhex(s string, to *[32]byte) bool {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(to) {
		return false
	}
	copy(to[:], raw)
	return true
}
