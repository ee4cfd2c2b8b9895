package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
)

// ProveEquivocationArgs show that a keeper signed two contradicting statements of one check.
type ProveEquivocationArgs struct {
	Finder    solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper    solana.PublicKey // wallet
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
	return proveEquivocation(a.Finder, a.Keeper, a.StakeMint, signedRecord{one[:], a.One.Signature}, signedRecord{other[:], a.Other.Signature})
}

// ProveManifestEquivocationArgs show that a keeper signed two manifests of one period.
type ProveManifestEquivocationArgs struct {
	Finder    solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper    solana.PublicKey // wallet
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
	return proveEquivocation(a.Finder, a.Keeper, a.StakeMint, signedRecord{one[:], a.One.Signature}, signedRecord{other[:], a.Other.Signature})
}

// signedRecord is the encoding of a record and the keeper's signature over it.
type signedRecord struct {
	message   []byte
	signature solana.Signature
}

func proveEquivocation(finder, wallet, stakeMint solana.PublicKey, signedBy ...signedRecord) ([]solana.Instruction, error) {
	var out []solana.Instruction
	for _, w := range signedBy {
		if !w.signature.Verify(wallet, w.message) {
			return nil, fmt.Errorf("%w: keeper's signature: %w", ErrInstruction, records.ErrSignature)
		}
		signed, err := VerifySignature(wallet, w.signature, w.message)
		if err != nil {
			return nil, err
		}
		out = append(out, signed)
	}
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewProveEquivocationInstruction(finder, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper), market.RewardsAddress(),
		market.PayoutVaultAddress(), stakeMint, market.PayoutAddress(finder, keeper), solana.TokenProgramID, solana.SystemProgramID,
		solana.SysVarInstructionsPubkey)
	if ix, err = finish(ix, err, bindings.Instruction_ProveEquivocation); err != nil {
		return nil, err
	}
	return append(out, ix), nil
}
