package seed

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// What each kind of wallet is given.
const (
	faucetSOL   = 10_000 * chain.SOL
	walletSOL   = 10 * chain.SOL
	keeperGNT   = 1_500 * GNT
	providerGNT = 1_500 * GNT // enough for a bond too: docs/tutorials/run-a-keeper.md
	// CustomerUSDC is what each customer starts with.
	CustomerUSDC = 1_000 * USDC
)

// grant is what one wallet gets.
type grant struct {
	to        Wallet
	usdc, gnt uint64
}

// Seed makes mints, market, models and funded wallets. The node must be empty, with the program deployed and
// upgradeable by the authority.
func Seed(ctx context.Context, client *chain.Client, k Keys, params bindings.Params, models []bindings.GpuModelArgs) error {
	sender := Sender{Chain: client}
	if err := sender.Airdrop(ctx, k.Faucet.Address(), faucetSOL); err != nil {
		return fmt.Errorf("fund the faucet: %w", err)
	}
	if err := createMints(ctx, sender, k); err != nil {
		return err
	}
	grants := []grant{{to: k.Authority}, {to: k.Guardian}, {to: k.Treasury}}
	for _, keeper := range k.Keepers {
		grants = append(grants, grant{to: keeper, gnt: keeperGNT})
	}
	for _, p := range k.Providers {
		grants = append(grants, grant{to: p, gnt: providerGNT})
	}
	for _, c := range k.Customers {
		grants = append(grants, grant{to: c, usdc: CustomerUSDC})
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, g := range grants {
		group.Go(func() error { return Fund(groupCtx, sender, k, g.to.Address(), walletSOL, g.usdc, g.gnt) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return initMarket(ctx, sender, k, params, models)
}

func createMints(ctx context.Context, s Sender, k Keys) error {
	rent, err := s.Chain.MinimumRent(ctx, token.MINT_SIZE, chain.Confirmed)
	if err != nil {
		return fmt.Errorf("rent of a mint: %w", err)
	}
	faucet := k.Faucet.Address()
	var ixs []solana.Instruction
	for _, m := range []struct {
		key      Wallet
		decimals uint8
	}{{k.paymentKey, usdcDecimals}, {k.stakeKey, gntDecimals}} {
		ixs = append(ixs,
			system.NewCreateAccountInstruction(uint64(rent), token.MINT_SIZE, token.ProgramID, faucet, m.key.Address()).Build(),
			token.NewInitializeMint2InstructionBuilder().SetDecimals(m.decimals).SetMintAuthority(faucet).SetMintAccount(m.key.Address()).Build())
	}
	if _, err := s.Send(ctx, k.Faucet.Key, []solana.PrivateKey{k.paymentKey.Key, k.stakeKey.Key}, ixs...); err != nil {
		return fmt.Errorf("create the mints: %w", err)
	}
	return nil
}

// Fund gives a wallet SOL, token accounts for both mints, and tokens, from the faucet.
func Fund(ctx context.Context, s Sender, k Keys, to solana.PublicKey, sol chain.Lamports, usdc, gnt uint64) error {
	faucet := k.Faucet.Address()
	var ixs []solana.Instruction
	if sol > 0 {
		ixs = append(ixs, system.NewTransferInstruction(uint64(sol), faucet, to).Build())
	}
	for _, g := range []struct {
		mint   solana.PublicKey
		amount uint64
	}{{k.PaymentMint, usdc}, {k.StakeMint, gnt}} {
		ixs = append(ixs, ix.CreateTokenAccount(faucet, to, g.mint))
		if g.amount > 0 {
			ixs = append(ixs, token.NewMintToInstruction(g.amount, g.mint, market.TokenAddress(to, g.mint), faucet, nil).Build())
		}
	}
	if _, err := s.Send(ctx, k.Faucet.Key, nil, ixs...); err != nil {
		return fmt.Errorf("fund %s: %w", to, err)
	}
	return nil
}

func initMarket(ctx context.Context, s Sender, k Keys, params bindings.Params, models []bindings.GpuModelArgs) error {
	genesis, err := s.Chain.Genesis(ctx)
	if err != nil {
		return fmt.Errorf("genesis hash: %w", err)
	}
	authority := k.Authority.Address()
	init, err := bindings.NewMarketInitInstruction(params, records.DomainOf(genesis), k.Guardian.Address(),
		authority, market.MarketAddress(), k.PaymentMint, k.StakeMint, k.Treasury.TokenAccount(k.PaymentMint), market.FeeVaultAddress(),
		market.RewardsAddress(), market.EmissionVaultAddress(), market.PayoutVaultAddress(), market.ProgramDataAddress(market.ProgramID),
		solana.TokenProgramID, solana.SystemProgramID)
	if err != nil {
		return fmt.Errorf("market_init: %w", err)
	}
	if _, err := s.Send(ctx, k.Authority.Key, nil, init); err != nil {
		return fmt.Errorf("market_init: %w", err)
	}
	return initModels(ctx, s, k, params, models)
}

// initModels proposes the GPU models, waits for the timelock, and puts them into force.
func initModels(ctx context.Context, s Sender, k Keys, params bindings.Params, models []bindings.GpuModelArgs) error {
	var propose, apply []solana.Instruction
	for _, m := range models {
		proposal, err := bindings.NewGpuModelProposeInstruction(m, k.Authority.Address(), market.MarketAddress(), market.ModelAddress(m.Id), solana.SystemProgramID)
		if err != nil {
			return fmt.Errorf("gpu_model_propose: %w", err)
		}
		application, err := ix.GpuModelApply(m.Id)
		if err != nil {
			return fmt.Errorf("gpu_model_apply: %w", err)
		}
		propose, apply = append(propose, proposal), append(apply, application)
	}
	if _, err := s.Send(ctx, k.Authority.Key, nil, propose...); err != nil {
		return fmt.Errorf("gpu_model_propose: %w", err)
	}
	if err := s.pass(ctx, market.Seconds(params.TimelockSecs)); err != nil {
		return fmt.Errorf("timelock of the GPU models: %w", err)
	}
	if _, err := s.Send(ctx, k.Authority.Key, nil, apply...); err != nil {
		return fmt.Errorf("gpu_model_apply: %w", err)
	}
	return nil
}
