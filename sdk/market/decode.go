package market

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

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

// kind is all that tells the accounts of one kind from others.
type kind struct {
	name          string
	discriminator [8]byte
	value         reflect.Type // a pointer to one of the account types of this package
	decode        func(Meta, []byte) (any, error)
}

// kinds has all kinds. A new one needs its constant and its line here, its type in accounts.go, and its place in package view.
var kinds = [...]kind{
	KindMarket:   plain("market", bindings.Account_Market, func(v *Market) parts { return parts{&v.Meta, &v.Market, &v.Version} }),
	KindModel:    plain("GPU model", bindings.Account_GpuModel, func(v *Model) parts { return parts{&v.Meta, &v.GpuModel, &v.Version} }),
	KindProvider: plain("provider", bindings.Account_Provider, func(v *Provider) parts { return parts{&v.Meta, &v.Provider, &v.Version} }),
	KindNode:     plain("node", bindings.Account_Node, func(v *Node) parts { return parts{&v.Meta, &v.Node, &v.Version} }),
	KindKeeper:   plain("keeper", bindings.Account_Keeper, func(v *Keeper) parts { return parts{&v.Meta, &v.Keeper, &v.Version} }),
	KindCredits:  plain("credits", bindings.Account_Credits, func(v *Credits) parts { return parts{&v.Meta, &v.Credits, &v.Version} }),
	KindOrder:    plain("order", bindings.Account_Order, func(v *Order) parts { return parts{&v.Meta, &v.Order, &v.Version} }),
	KindLease:    plain("lease", bindings.Account_Lease, func(v *Lease) parts { return parts{&v.Meta, &v.Lease, &v.Version} }),
	KindReport:   kindOf("report", bindings.Account_Report, decodeReport),
	KindFault:    plain("fault", bindings.Account_Fault, func(v *Fault) parts { return parts{&v.Meta, &v.Fault, &v.Version} }),
	// No instruction names DeviceClaim by type, so that the interface description leaves it out.
	KindDevice:     kindOf("device claim", accountDiscriminator("DeviceClaim"), decodeDevice),
	KindFraudProof: plain("fraud proof", bindings.Account_FraudProof, func(v *FraudProof) parts { return parts{&v.Meta, &v.FraudProof, &v.Version} }),
	KindRewards:    plain("rewards", bindings.Account_Rewards, func(v *Rewards) parts { return parts{&v.Meta, &v.Rewards, &v.Version} }),
	KindDispute:    plain("dispute", bindings.Account_Dispute, func(v *Dispute) parts { return parts{&v.Meta, &v.Dispute, &v.Version} }),
	KindAuction:    plain("auction", bindings.Account_Auction, func(v *Auction) parts { return parts{&v.Meta, &v.Auction, &v.Version} }),
	KindPayout:     plain("payout", bindings.Account_Payout, func(v *Payout) parts { return parts{&v.Meta, &v.Payout, &v.Version} }),
	KindOutage:     plain("outage", bindings.Account_Outage, func(v *Outage) parts { return parts{&v.Meta, &v.Outage, &v.Version} }),
}

func kindOf[T any](name string, discriminator [8]byte, decode func(Meta, []byte) (*T, error)) kind {
	return kind{name, discriminator, reflect.TypeFor[*T](), func(meta Meta, body []byte) (any, error) { return decode(meta, body) }}
}

// parts are those of an account that is what its struct is, and nothing more.
type parts struct {
	meta    *Meta
	body    borsh
	version *uint8
}

func plain[T any](name string, discriminator [8]byte, of func(*T) parts) kind {
	isFlat := flat(reflect.TypeOf(of(new(T)).body).Elem())
	return kindOf(name, discriminator, func(meta Meta, body []byte) (*T, error) {
		v := new(T)
		p := of(v)
		*p.meta = meta
		if isFlat {
			return v, copyFlat(p, body)
		}
		return v, read(p.body, p.version, body)
	})
}

func (k Kind) String() string {
	if k.known() {
		return kinds[k].name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

func (k Kind) known() bool { return k > 0 && int(k) < len(kinds) }

// accountDiscriminator is Anchor's: the first eight bytes of sha256("account:Name").
func accountDiscriminator(name string) [8]byte {
	sum := sha256.Sum256([]byte("account:" + name))
	return [8]byte(sum[:8])
}

// Decoded is an account with its kind; Value is a pointer to one of the account types of this package.
type Decoded struct {
	Kind  Kind
	Value any
}

// KindOf is the kind of a decoded account: a pointer to one of the account types of this package; 0 for anything else.
func KindOf(value any) Kind {
	return Kind(max(0, slices.IndexFunc(kinds[:], func(k kind) bool { return k.value != nil && k.value == reflect.TypeOf(value) })))
}

// Discriminator is what the accounts of a kind begin with; zero for no kind.
func Discriminator(k Kind) [8]byte {
	if !k.known() {
		return [8]byte{}
	}
	return kinds[k].discriminator
}

// Decode reads any account of the program. Errors: ErrUnknownAccount, ErrLayout.
func Decode(meta Meta, data []byte) (Decoded, error) {
	if len(data) < 8 {
		return Decoded{}, fmt.Errorf("%s has %d bytes: %w", meta.Address, len(data), ErrUnknownAccount)
	}
	for k := KindMarket; k.known(); k++ {
		if kinds[k].discriminator != [8]byte(data[:8]) {
			continue
		}
		value, err := kinds[k].decode(meta, data[8:])
		if err != nil {
			return Decoded{}, fmt.Errorf("%s %s: %w", k, meta.Address, err)
		}
		return Decoded{Kind: k, Value: value}, nil
	}
	return Decoded{}, fmt.Errorf("%s: %w", meta.Address, ErrUnknownAccount)
}

type borsh interface {
	UnmarshalWithDecoder(*bin.Decoder) error
}

// read reads an account's struct. Error: ErrLayout.
func read(target borsh, version *uint8, body []byte) error {
	d := bin.NewBorshDecoder(body)
	if err := target.UnmarshalWithDecoder(d); err != nil {
		return fmt.Errorf("%w: %w", ErrLayout, err)
	}
	return checkLayout(d.Remaining(), *version)
}

// checkLayout refuses an account with so many bytes behind its struct, or of another version. Error: ErrLayout.
func checkLayout(more int, version uint8) error {
	if more != 0 {
		return fmt.Errorf("it has %d bytes more than known: %w", more, ErrLayout)
	}
	if version != LayoutVersion {
		return fmt.Errorf("it is of version %d: %w", version, ErrLayout)
	}
	return nil
}

// decodeDevice reads a device claim. Error: ErrLayout.
func decodeDevice(meta Meta, b []byte) (*Device, error) {
	const size = 32 + 32 + 32 + 8
	if len(b) != size || b[97] != LayoutVersion || b[99] > 1 {
		return nil, ErrLayout
	}
	return &Device{
		Meta: meta, Node: solana.PublicKey(b[0:32]), Identity: [32]byte(b[32:64]),
		RentPayer: solana.PublicKey(b[64:96]), Tier: b[96], Key: b[99] == 1, Expires: int64(binary.LittleEndian.Uint32(b[100:104])),
	}, nil
}
