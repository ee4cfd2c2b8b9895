package market

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// Errors of decoding.
var (
	// ErrUnknownAccount is the error of account data without a known discriminator.
	ErrUnknownAccount = errors.New("not an account of the market program")
	// ErrLayout is the error of an account that this version cannot read.
	ErrLayout = errors.New("account layout is not of this version")
)

// Kind is the type of an account.
type Kind uint8

// The kinds.
const (
	KindMarket Kind = iota + 1
	KindModel
	KindProvider
	KindNode
	KindKeeper
	KindCredits
	KindOrder
	KindLease
	KindReport
	KindFault
	KindDevice
	KindFraudProof
	KindRewards
	KindDispute
	KindAuction
	KindPayout
	KindOutage
)

var kindNames = [...]string{
	KindMarket: "market", KindModel: "GPU model", KindProvider: "provider", KindNode: "node", KindKeeper: "keeper",
	KindCredits: "credits", KindOrder: "order", KindLease: "lease", KindReport: "report", KindFault: "fault",
	KindDevice: "device claim", KindFraudProof: "fraud proof",
	KindRewards: "rewards", KindDispute: "dispute",
	KindAuction: "auction", KindPayout: "payout", KindOutage: "outage",
}

func (k Kind) String() string { return name(kindNames[:], "kind", uint8(k)) }

// accountDevice is the discriminator of DeviceClaim, which no instruction names by type, so that the interface
// description leaves it out.
var accountDevice = discriminator("account", "DeviceClaim")

// discriminator is Anchor's: the first eight bytes of sha256("namespace:Name").
func discriminator(namespace, name string) [8]byte {
	sum := sha256.Sum256([]byte(namespace + ":" + name))
	return [8]byte(sum[:8])
}

// sizes are the exact lengths of accounts after their discriminator.
const deviceSize = 32 + 32 + 32 + 8

// Decoded is an account with its kind; Value is a pointer to one of the account types of this package.
type Decoded struct {
	Kind  Kind
	Value any
}

// KindOf is the kind of a decoded account: a pointer to one of the account types of this package; 0 for anything else.
func KindOf(value any) Kind {
	switch value.(type) {
	case *Market:
		return KindMarket
	case *Model:
		return KindModel
	case *Provider:
		return KindProvider
	case *Node:
		return KindNode
	case *Keeper:
		return KindKeeper
	case *Credits:
		return KindCredits
	case *Order:
		return KindOrder
	case *Lease:
		return KindLease
	case *Report:
		return KindReport
	case *Fault:
		return KindFault
	case *Device:
		return KindDevice
	case *FraudProof:
		return KindFraudProof
	case *Rewards:
		return KindRewards
	case *Dispute:
		return KindDispute
	case *Auction:
		return KindAuction
	case *Payout:
		return KindPayout
	case *Outage:
		return KindOutage
	}
	return 0
}

// Discriminator is what the accounts of a kind begin with; zero for no kind.
func Discriminator(k Kind) [8]byte {
	return map[Kind][8]byte{
		KindMarket: bindings.Account_Market, KindModel: bindings.Account_GpuModel, KindProvider: bindings.Account_Provider,
		KindNode: bindings.Account_Node, KindKeeper: bindings.Account_Keeper, KindCredits: bindings.Account_Credits,
		KindOrder: bindings.Account_Order, KindLease: bindings.Account_Lease, KindReport: bindings.Account_Report,
		KindFault: bindings.Account_Fault, KindFraudProof: bindings.Account_FraudProof, KindRewards: bindings.Account_Rewards,
		KindDispute: bindings.Account_Dispute, KindAuction: bindings.Account_Auction, KindPayout: bindings.Account_Payout,
		KindDevice: accountDevice, KindOutage: bindings.Account_Outage,
	}[k]
}

// Decode reads any account of the program. Errors: ErrUnknownAccount, ErrLayout.
func Decode(meta Meta, data []byte) (Decoded, error) {
	if len(data) < 8 {
		return Decoded{}, fmt.Errorf("%s has %d bytes: %w", meta.Address, len(data), ErrUnknownAccount)
	}
	body := data[8:]
	switch [8]byte(data[:8]) {
	case bindings.Account_Market:
		v := &Market{Meta: meta}
		return decoded(KindMarket, v, &v.Market, &v.Version, meta, body)
	case bindings.Account_GpuModel:
		v := &Model{Meta: meta}
		return decoded(KindModel, v, &v.GpuModel, &v.Version, meta, body)
	case bindings.Account_Provider:
		v := &Provider{Meta: meta}
		return decoded(KindProvider, v, &v.Provider, &v.Version, meta, body)
	case bindings.Account_Node:
		v := &Node{Meta: meta}
		return decoded(KindNode, v, &v.Node, &v.Version, meta, body)
	case bindings.Account_Keeper:
		v := &Keeper{Meta: meta}
		return decoded(KindKeeper, v, &v.Keeper, &v.Version, meta, body)
	case bindings.Account_Credits:
		v := &Credits{Meta: meta}
		return decoded(KindCredits, v, &v.Credits, &v.Version, meta, body)
	case bindings.Account_Order:
		v := &Order{Meta: meta}
		return decoded(KindOrder, v, &v.Order, &v.Version, meta, body)
	case bindings.Account_Lease:
		v := &Lease{Meta: meta}
		return decoded(KindLease, v, &v.Lease, &v.Version, meta, body)
	case bindings.Account_Report:
		return decodeReport(meta, body)
	case bindings.Account_Fault:
		v := &Fault{Meta: meta}
		return decoded(KindFault, v, &v.Fault, &v.Version, meta, body)
	case bindings.Account_FraudProof:
		v := &FraudProof{Meta: meta}
		return decoded(KindFraudProof, v, &v.FraudProof, &v.Version, meta, body)
	case bindings.Account_Rewards:
		v := &Rewards{Meta: meta}
		return decoded(KindRewards, v, &v.Rewards, &v.Version, meta, body)
	case bindings.Account_Dispute:
		v := &Dispute{Meta: meta}
		return decoded(KindDispute, v, &v.Dispute, &v.Version, meta, body)
	case bindings.Account_Auction:
		v := &Auction{Meta: meta}
		return decoded(KindAuction, v, &v.Auction, &v.Version, meta, body)
	case bindings.Account_Payout:
		v := &Payout{Meta: meta}
		return decoded(KindPayout, v, &v.Payout, &v.Version, meta, body)
	case bindings.Account_Outage:
		v := &Outage{Meta: meta}
		return decoded(KindOutage, v, &v.Outage, &v.Version, meta, body)
	case accountDevice:
		return decodeDevice(meta, body)
	}
	return Decoded{}, fmt.Errorf("%s: %w", meta.Address, ErrUnknownAccount)
}

type borsh interface {
	UnmarshalWithDecoder(*bin.Decoder) error
}

func decoded(kind Kind, value any, target borsh, version *uint8, meta Meta, body []byte) (Decoded, error) {
	d := bin.NewBorshDecoder(body)
	if err := target.UnmarshalWithDecoder(d); err != nil {
		return Decoded{}, fmt.Errorf("%s %s: %w: %w", kind, meta.Address, ErrLayout, err)
	}
	if d.Remaining() != 0 {
		return Decoded{}, fmt.Errorf("%s %s has %d bytes more than known: %w", kind, meta.Address, d.Remaining(), ErrLayout)
	}
	if *version != LayoutVersion {
		return Decoded{}, fmt.Errorf("%s %s is of version %d: %w", kind, meta.Address, *version, ErrLayout)
	}
	return Decoded{Kind: kind, Value: value}, nil
}

func decodeDevice(meta Meta, b []byte) (Decoded, error) {
	if len(b) != deviceSize || b[97] != LayoutVersion || b[99] > 1 {
		return Decoded{}, fmt.Errorf("device claim %s: %w", meta.Address, ErrLayout)
	}
	return Decoded{Kind: KindDevice, Value: &Device{
		Meta: meta, Node: solana.PublicKey(b[0:32]), Identity: [32]byte(b[32:64]),
		RentPayer: solana.PublicKey(b[64:96]), Tier: b[96], Key: b[99] == 1, Expires: int64(binary.LittleEndian.Uint32(b[100:104])),
	}}, nil
}
