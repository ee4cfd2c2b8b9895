package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ProveEquivocationArgs show that a keeper signed two contradicting statements of one check.
type ProveEquivocationArgs struct {
	Finder solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper solana.PublicKey // wallet
	// Keys are those that the keeper answers for; none stand for its wallet.
	Keys      []solana.PublicKey
	StakeMint solana.PublicKey
	One       market.SignedStatement
	Other     market.SignedStatement
}

// ProveEquivocation returns three instructions that belong together: both checks of the keeper's signature, and the
// proof; anyone may send them. Errors: ErrInstruction, records.ErrSignature.
func ProveEquivocation(a ProveEquivocationArgs) ([]solana.Instruction, error) {
	if !market.StatementsEquivocate(a.One.Statement, a.Other.Statement) {
		return nil, fmt.Errorf("%w: the statements do not contradict each other", ErrInstruction)
	}
	one, other := a.One.Statement.Encode(), a.Other.Statement.Encode()
	return proveEquivocation(a.Finder, a.Keeper, a.StakeMint, a.Keys, signedRecord{one[:], a.One.Signature}, signedRecord{other[:], a.Other.Signature})
}

// ProveManifestEquivocationArgs show that a keeper signed two manifests of one period.
type ProveManifestEquivocationArgs struct {
	Finder solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper solana.PublicKey // wallet
	// Keys are those that the keeper answers for; none stand for its wallet.
	Keys      []solana.PublicKey
	StakeMint solana.PublicKey
	One       market.SignedManifest
	Other     market.SignedManifest
}

// ProveManifestEquivocation does what ProveEquivocation does with two manifests. Errors: ErrInstruction,
// records.ErrSignature.
func ProveManifestEquivocation(a ProveManifestEquivocationArgs) ([]solana.Instruction, error) {
	if !market.ManifestsEquivocate(a.One.Manifest, a.Other.Manifest) {
		return nil, fmt.Errorf("%w: the manifests do not contradict each other", ErrInstruction)
	}
	one, other := a.One.Manifest.Encode(), a.Other.Manifest.Encode()
	return proveEquivocation(a.Finder, a.Keeper, a.StakeMint, a.Keys, signedRecord{one[:], a.One.Signature}, signedRecord{other[:], a.Other.Signature})
}

// signedRecord is the encoding of a record and the keeper's signature over it.
type signedRecord struct {
	message   []byte
	signature solana.Signature
}

// by is the key that signed: of the keeper's, which are its wallet alone where none are given. Error:
// records.ErrSignature.
func (r signedRecord) by(keys []solana.PublicKey) (solana.PublicKey, error) {
	for _, key := range keys {
		if r.signature.Verify(key, r.message) {
			return key, nil
		}
	}
	return solana.PublicKey{}, fmt.Errorf("%w: keeper's signature: %w", ErrInstruction, records.ErrSignature)
}

func proveEquivocation(finder, wallet, stakeMint solana.PublicKey, keys []solana.PublicKey, signedBy ...signedRecord) ([]solana.Instruction, error) {
	var out []solana.Instruction
	if len(keys) == 0 {
		keys = []solana.PublicKey{wallet}
	}
	for _, w := range signedBy {
		key, err := w.by(keys)
		if err != nil {
			return nil, err
		}
		signed, err := VerifySignature(key, w.signature, w.message)
		if err != nil {
			return nil, err
		}
		out = append(out, signed)
	}
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewProveEquivocationInstruction(finder, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper), market.RewardsAddress(),
		market.PayoutVaultAddress(), stakeMint, market.PayoutAddress(finder, keeper), solana.TokenProgramID, solana.SystemProgramID,
		solana.SysVarInstructionsPubkey)
	if ix, err = finish(ix, err); err != nil {
		return nil, err
	}
	return append(out, ix), nil
}
