package chain

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
)

// Lamports is an amount of native SOL: 10^9 lamports are one SOL.
type Lamports uint64

// SOL is one SOL in lamports.
const SOL Lamports = 1_000_000_000

// SignatureFee is what the runtime takes for each signature of a transaction.
const SignatureFee Lamports = 5_000

// String writes the amount in SOL without trailing zeros, e.g. "1.5 SOL".
func (l Lamports) String() string {
	whole, frac := uint64(l/SOL), uint64(l%SOL)
	if frac == 0 {
		return strconv.FormatUint(whole, 10) + " SOL"
	}
	return fmt.Sprintf("%d.%s SOL", whole, strings.TrimRight(fmt.Sprintf("%09d", frac), "0"))
}

// ParseSOL reads a decimal number of SOL with at most nine decimals; the unit may follow. Error: ErrAmount.
func ParseSOL(s string) (Lamports, error) {
	v := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "SOL"))
	whole, frac, _ := strings.Cut(v, ".")
	if len(frac) > 9 || (whole == "" && frac == "") {
		return 0, fmt.Errorf("%q: %w", s, ErrAmount)
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	if err != nil || strings.ContainsAny(v, "+-") {
		return 0, fmt.Errorf("%q: %w", s, ErrAmount)
	}
	return Lamports(n), nil
}

// MicroLamports is a price per compute unit: 10^6 micro-lamports are one lamport.
type MicroLamports uint64

// Cost returns the lamports that units of compute cost at this price, rounded up as the runtime rounds.
func (m MicroLamports) Cost(units uint32) Lamports {
	if units != 0 && uint64(m) > (math.MaxUint64-999_999)/uint64(units) {
		return math.MaxUint64
	}
	return Lamports((uint64(m)*uint64(units) + 999_999) / 1_000_000)
}

// Commitment is a commitment level: how many votes of validators a state must have before it is used.
type Commitment string

// The levels, weakest first.
const (
	Processed Commitment = "processed"
	Confirmed Commitment = "confirmed"
	Finalized Commitment = "finalized"
)

// ParseCommitment reads a level by its name. Error: ErrCommitment.
func ParseCommitment(s string) (Commitment, error) {
	c := Commitment(strings.ToLower(strings.TrimSpace(s)))
	if c.rank() == 0 {
		return "", fmt.Errorf("%q: %w", s, ErrCommitment)
	}
	return c, nil
}

// Reaches reports whether this level is at least want. An unknown level reaches nothing and is reached by nothing.
func (c Commitment) Reaches(want Commitment) bool {
	return want.rank() > 0 && c.rank() >= want.rank()
}

// RPC converts to solana-go's type.
func (c Commitment) RPC() rpc.CommitmentType { return rpc.CommitmentType(c) }

func (c Commitment) rank() int {
	switch c {
	case Processed:
		return 1
	case Confirmed:
		return 2
	case Finalized:
		return 3
	}
	return 0
}

// Account is an account as read at a slot.
type Account struct {
	Key        solana.PublicKey
	Owner      solana.PublicKey
	Lamports   Lamports
	Data       []byte
	Executable bool
	Slot       uint64 // of the state that the node answered from
}

// Blockhash makes a transaction valid until the chain is higher than LastValidBlockHeight.
type Blockhash struct {
	Hash                 solana.Hash
	LastValidBlockHeight uint64
	Slot                 uint64
}
