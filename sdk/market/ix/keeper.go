package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// multiaddr pads a libp2p address. Error: ErrInstruction.
func multiaddr(s string) (b [128]uint8, n uint8, err error) {
	if len(s) == 0 || len(s) > len(b) || s[0] != '/' {
		return b, 0, fmt.Errorf("%w: %q is not a multiaddress of at most %d bytes, such as /ip4/203.0.113.7/tcp/4001", ErrInstruction, s, len(b))
	}
	copy(b[:], s)
	return b, uint8(len(s)), nil
}

// KeeperRegisterArgs bond a wallet as a keeper.
type KeeperRegisterArgs struct {
	Wallet, StakeMint solana.PublicKey
	From              solana.PublicKey // stake tokens; zero takes the wallet's associated account
	Bond              market.GNT
	Multiaddr         string
	// Signer is the key that is to sign for the keeper; zero takes the wallet. The check of another's consent goes
	// right before: see SignerConsent.
	Signer solana.PublicKey
}

// KeeperRegister creates the keeper; its weight counts after keeper_activate. Error: ErrInstruction.
func KeeperRegister(a KeeperRegisterArgs) (solana.Instruction, error) {
	addr, n, err := multiaddr(a.Multiaddr)
	if err != nil {
		return nil, err
	}
	keeper := market.KeeperAddress(a.Wallet)
	ix, err := bindings.NewKeeperRegisterInstruction(uint64(a.Bond), addr, n, or(a.Signer, a.Wallet), a.Wallet, market.MarketAddress(), a.StakeMint, keeper,
		market.StakeVaultAddress(keeper), or(a.From, market.TokenAddress(a.Wallet, a.StakeMint)), solana.SysVarInstructionsPubkey,
		solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err)
}

// SignerConsent makes the runtime check that a key agreed to sign for a keeper: right before KeeperRegister and
// KeeperSetSigner, unless the key is the wallet. Errors: ErrInstruction, records.ErrSignature.
func SignerConsent(c records.Consent, signer solana.PublicKey, consent solana.Signature) (solana.Instruction, error) {
	if err := c.Verify(signer, consent); err != nil {
		return nil, fmt.Errorf("%w: consent of the signer: %w", ErrInstruction, err)
	}
	message := c.Encode()
	return VerifySignature(signer, consent, message[:])
}

// KeeperSetSigner has another key sign for the wallet's keeper. The wallet sends it, with SignerConsent before it.
func KeeperSetSigner(wallet, signer solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperSetSignerInstruction(signer, wallet, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper),
		solana.SysVarInstructionsPubkey)
	return finish(ix, err)
}

// KeeperUpdateArgs say where a keeper is.
type KeeperUpdateArgs struct {
	Wallet    solana.PublicKey
	Signer    solana.PublicKey // of the keeper; zero takes its wallet
	Multiaddr string
}

// KeeperUpdate writes the keeper's address. Error: ErrInstruction.
func KeeperUpdate(a KeeperUpdateArgs) (solana.Instruction, error) {
	addr, n, err := multiaddr(a.Multiaddr)
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewKeeperUpdateInstruction(addr, n, or(a.Signer, a.Wallet), market.KeeperAddress(a.Wallet))
	return finish(ix, err)
}

// KeeperActivate lets the weight of a keeper count whose wallet signs for it, after the activation delay.
func KeeperActivate(wallet solana.PublicKey) (solana.Instruction, error) {
	return KeeperActivateBy(wallet, wallet)
}

// KeeperActivateBy is KeeperActivate for a keeper with a signer.
func KeeperActivateBy(wallet, signer solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperActivateInstruction(signer, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper))
	return finish(ix, err)
}

// KeeperSuspend takes the weight of a keeper that does not vote; anyone may.
func KeeperSuspend(wallet solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperSuspendInstruction(market.MarketAddress(), keeper, market.StakeVaultAddress(keeper))
	return finish(ix, err)
}

// KeeperRequestExit ends the weight at once; the bond stays until the exit time.
func KeeperRequestExit(wallet solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperRequestExitInstruction(wallet, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper))
	return finish(ix, err)
}

// KeeperWithdraw takes bond and rent after the exit time.
func KeeperWithdraw(a WithdrawStakeArgs) (solana.Instruction, error) {
	keeper := market.KeeperAddress(a.Wallet)
	ix, err := bindings.NewKeeperWithdrawInstruction(a.Wallet, market.MarketAddress(), market.RewardsAddress(), market.FeeVaultAddress(), keeper,
		market.StakeVaultAddress(keeper), or(a.To, market.TokenAddress(a.Wallet, a.StakeMint)), solana.TokenProgramID)
	return finish(ix, err)
}
