package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/idl/bindings"
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
}

// KeeperRegister creates the keeper; its weight counts after keeper_activate. Error: ErrInstruction.
func KeeperRegister(a KeeperRegisterArgs) (solana.Instruction, error) {
	addr, n, err := multiaddr(a.Multiaddr)
	if err != nil {
		return nil, err
	}
	keeper := market.KeeperAddress(a.Wallet)
	ix, err := bindings.NewKeeperRegisterInstruction(uint64(a.Bond), addr, n, a.Wallet, market.MarketAddress(), a.StakeMint, keeper,
		market.StakeVaultAddress(keeper), or(a.From, market.TokenAddress(a.Wallet, a.StakeMint)), solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err, bindings.Instruction_KeeperRegister)
}

// KeeperUpdateArgs say where a keeper is.
type KeeperUpdateArgs struct {
	Wallet    solana.PublicKey
	Multiaddr string
}

// KeeperUpdate writes the keeper's address. Error: ErrInstruction.
func KeeperUpdate(a KeeperUpdateArgs) (solana.Instruction, error) {
	addr, n, err := multiaddr(a.Multiaddr)
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewKeeperUpdateInstruction(addr, n, a.Wallet, market.KeeperAddress(a.Wallet))
	return finish(ix, err, bindings.Instruction_KeeperUpdate)
}

// KeeperActivate lets the weight of the wallet's keeper count, after the activation delay.
func KeeperActivate(wallet solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperActivateInstruction(wallet, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper))
	return finish(ix, err, bindings.Instruction_KeeperActivate)
}

// KeeperSuspend takes the weight of a keeper that does not vote; anyone may.
func KeeperSuspend(wallet solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperSuspendInstruction(market.MarketAddress(), keeper, market.StakeVaultAddress(keeper))
	return finish(ix, err, bindings.Instruction_KeeperSuspend)
}

// KeeperRequestExit ends the weight at once; the bond stays until the exit time.
func KeeperRequestExit(wallet solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(wallet)
	ix, err := bindings.NewKeeperRequestExitInstruction(wallet, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper))
	return finish(ix, err, bindings.Instruction_KeeperRequestExit)
}

// KeeperWithdraw takes bond and rent after the exit time.
func KeeperWithdraw(a WithdrawStakeArgs) (solana.Instruction, error) {
	keeper := market.KeeperAddress(a.Wallet)
	ix, err := bindings.NewKeeperWithdrawInstruction(a.Wallet, market.MarketAddress(), keeper, market.StakeVaultAddress(keeper),
		or(a.To, market.TokenAddress(a.Wallet, a.StakeMint)), solana.TokenProgramID)
	return finish(ix, err, bindings.Instruction_KeeperWithdraw)
}
