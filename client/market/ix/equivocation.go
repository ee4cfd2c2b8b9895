package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
)

// ProveEquivocationArgs show that a keeper contradicted itself about a check.
type ProveEquivocationArgs struct {
	Finder    solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper    solana.PublicKey // wallet
	StakeMint solana.PublicKey
	One       market.Said
	Other     market.Said
}

// ProveEquivocation returns three instructions that belong together: both checks of the keeper's signature, and the
// proof; anyone may send them. Errors: ErrInstruction, wire.ErrSignature.
func ProveEquivocation(a ProveEquivocationArgs) ([]solana.Instruction, error) {
	if !market.Equivocates(a.One.Statement, a.Other.Statement) {
		return nil, fmt.Errorf("%w: the statements do not contradict each other", ErrInstruction)
	}
	one, other := a.One.Statement.Encode(), a.Other.Statement.Encode()
	return contradiction(a.Finder, a.Keeper, a.StakeMint, word{one[:], a.One.Signature}, word{other[:], a.Other.Signature})
}

// ProveManifestsArgs show that a keeper signed two manifests of one period.
type ProveManifestsArgs struct {
	Finder    solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper    solana.PublicKey // wallet
	StakeMint solana.PublicKey
	One       market.Listed
	Other     market.Listed
}

// ProveManifests does what ProveEquivocation does with two manifests. Errors: ErrInstruction, wire.ErrSignature.
func ProveManifests(a ProveManifestsArgs) ([]solana.Instruction, error) {
	if !market.TwoFaced(a.One.Manifest, a.Other.Manifest) {
		return nil, fmt.Errorf("%w: the manifests do not contradict each other", ErrInstruction)
	}
	one, other := a.One.Manifest.Encode(), a.Other.Manifest.Encode()
	return contradiction(a.Finder, a.Keeper, a.StakeMint, word{one[:], a.One.Signature}, word{other[:], a.Other.Signature})
}

// word is what a keeper has signed.
type word struct {
	message   []byte
	signature solana.Signature
}

func contradiction(finder, wallet, stakeMint solana.PublicKey, words ...word) ([]solana.Instruction, error) {
	var out []solana.Instruction
	for _, w := range words {
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
	ix, err := bindings.NewProveEquivocationInstruction(finder, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper), stakeMint,
		market.TokenAddress(finder, stakeMint), solana.SysVarInstructionsPubkey, solana.TokenProgramID)
	if ix, err = finish(ix, err, bindings.Instruction_ProveEquivocation); err != nil {
		return nil, err
	}
	return append(out, ix), nil
}
