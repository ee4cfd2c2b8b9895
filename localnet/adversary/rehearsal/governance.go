package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// compareProgram compares what is deployed with the file that was built.
func (r *rehearsal) compareProgram(ctx context.Context) error {
	file, err := network.Program()
	if err != nil {
		return err
	}
	return r.equal(ctx, file)
}

func (r *rehearsal) equal(ctx context.Context, file string, more ...string) error {
	_, err := r.succeed(ctx, r.net.Keys.Authority, append([]string{"market", "program", "--compare", file}, more...)...)
	return err
}

// begin has customers deposit, and begins the lease that stays.
func (r *rehearsal) begin(ctx context.Context) error {
	for _, c := range r.net.Keys.Customers {
		if _, err := r.succeed(ctx, c, "credits", "add", "200"); err != nil {
			return err
		}
	}
	r.load.set(false)
	if err := r.longLease(ctx, r.net.Keys.Customers[0]); err != nil {
		return err
	}
	return r.trade(ctx)
}

// handOver gives the market and the program to the vault. Until it takes over, after the timelock, the former authority governs;
// afterwards it does not.
func (r *rehearsal) handOver(ctx context.Context) error {
	former := r.net.Keys.Authority
	var err error
	if r.vault, err = seed.OpenWallet(filepath.Join(r.net.Dir(), "keys"), "vault"); err != nil {
		return err
	}
	if err := r.net.Sender().Airdrop(ctx, r.vault.Address(), chain.Lamports(10*solana.LAMPORTS_PER_SOL)); err != nil {
		return err
	}
	if _, err := r.succeed(ctx, former, "market", "roles", "propose", "--authority", r.vault.Address().String()); err != nil {
		return err
	}
	for _, early := range []seed.Wallet{r.vault, r.net.Keys.Guardian} {
		if err := r.refused(ctx, early, "market", "roles", "apply"); err != nil {
			return err
		}
	}
	if err := r.afterTimelock(ctx, r.vault, "market", "roles", "apply"); err != nil {
		return err
	}
	err = r.until(ctx, "the vault governs", func(v *view.View) bool {
		m, ok := v.Market()
		return ok && m.Authority == r.vault.Address()
	})
	if err != nil {
		return err
	}
	if err := r.refused(ctx, former, "market", "propose", "--set", "fee_bps=1250"); err != nil {
		return err
	}
	code, err := r.net.Chain.Code(ctx, market.ProgramID, chain.Confirmed)
	if err != nil {
		return err
	}
	if err := r.loader.hand(ctx, code.Account, former, r.vault.Address()); err != nil {
		return fmt.Errorf("hand over the program: %w", err)
	}
	switch code, err := r.net.Chain.Code(ctx, market.ProgramID, chain.Confirmed); {
	case err != nil:
		return err
	case code.Authority != r.vault.Address():
		return fmt.Errorf("the program is still replaced by %s", code.Authority)
	}
	return r.trade(ctx)
}

// newFee is a fee that the market does not have before.
const newFee = 1_300

// changeParameter proposes, is refused before the timelock has passed, and applies by a wallet of no role.
func (r *rehearsal) changeParameter(ctx context.Context) error {
	stranger := r.net.Keys.Faucet
	if _, err := r.succeed(ctx, r.vault, "market", "propose", "--set", fmt.Sprintf("fee_bps=%d", newFee)); err != nil {
		return err
	}
	if err := r.refused(ctx, stranger, "market", "apply"); err != nil {
		return err
	}
	if err := r.afterTimelock(ctx, stranger, "market", "apply"); err != nil {
		return err
	}
	err := r.until(ctx, "the parameter is in force", func(v *view.View) bool {
		p, ok := v.Params()
		return ok && p.FeeBps == newFee
	})
	if err != nil {
		return err
	}
	return r.trade(ctx)
}

// afterTimelock repeats a command until it is accepted.
func (r *rehearsal) afterTimelock(ctx context.Context, w seed.Wallet, args ...string) error {
	return poll(ctx, fmt.Sprintf("%v is accepted", args), func() (bool, error) {
		out, err := r.net.Gantry(ctx, w, args...)
		return err == nil && out.Code == 0, err
	})
}

func (r *rehearsal) pauseAndOpen(ctx context.Context) error {
	return r.pauseBy(ctx, r.net.Keys.Guardian)
}

// pauseBy pauses the market as its guardian does, sees that no order is taken and that a running lease is paid, and opens it.
func (r *rehearsal) pauseBy(ctx context.Context, guardian seed.Wallet) error {
	r.load.set(true)
	defer r.load.set(false)
	if _, err := r.succeed(ctx, guardian, "market", "pause", "orders,awards"); err != nil {
		return err
	}
	paused := r.until(ctx, "the market is paused", func(v *view.View) bool {
		m, ok := v.Market()
		return ok && m.Paused == market.PauseOrders|market.PauseAwards
	})
	order := r.refused(ctx, r.net.Keys.Customers[0], "deploy", "--gpu", "A100", "--max-price", "2", "--duration", "10m", "--allow-simulated", "--", "true")
	if err := errors.Join(paused, order); err != nil {
		return err
	}
	if err := r.lives(ctx); err != nil {
		return err
	}
	if _, err := r.succeed(ctx, guardian, "market", "pause", "none"); err != nil {
		return err
	}
	return r.until(ctx, "the market is open", func(v *view.View) bool {
		m, ok := v.Market()
		return ok && m.Paused == 0
	})
}

// replaceGuardian has the vault name another guardian; the former one's key is worth nothing afterwards.
func (r *rehearsal) replaceGuardian(ctx context.Context) error {
	next, err := seed.OpenWallet(filepath.Join(r.net.Dir(), "keys"), "next-guardian")
	if err != nil {
		return err
	}
	if err := r.net.Sender().Airdrop(ctx, next.Address(), chain.Lamports(solana.LAMPORTS_PER_SOL)); err != nil {
		return err
	}
	if _, err := r.succeed(ctx, r.vault, "market", "roles", "propose", "--guardian", next.Address().String()); err != nil {
		return err
	}
	if err := r.afterTimelock(ctx, next, "market", "roles", "apply"); err != nil {
		return err
	}
	if err := r.refused(ctx, r.net.Keys.Guardian, "market", "pause", "orders"); err != nil {
		return err
	}
	if err := r.pauseBy(ctx, next); err != nil {
		return err
	}
	return r.trade(ctx)
}

// replaceProgram replaces the program by a build that differs in bytes that do nothing, and brings the former one back, as
// after an upgrade that went wrong. The authority compares each buffer before it uses it.
func (r *rehearsal) replaceProgram(ctx context.Context) error {
	file, err := network.Program()
	if err != nil {
		return err
	}
	code, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// The contact data in the program, security.txt, of the same length.
	other := bytes.Replace(code, []byte("SECURITY.md"), []byte("security.md"), 1)
	if bytes.Equal(code, other) {
		return fmt.Errorf("%s does not name SECURITY.md, by which the next build differs", file)
	}
	next := filepath.Join(r.net.Dir(), "next.so")
	if err := os.WriteFile(next, other, 0o600); err != nil {
		return err
	}
	if err := r.replace(ctx, next, other); err != nil {
		return err
	}
	if err := r.replace(ctx, file, code); err != nil {
		return fmt.Errorf("back: %w", err)
	}
	return nil
}

// replace deploys a build, and sees the market at work.
func (r *rehearsal) replace(ctx context.Context, file string, code []byte) error {
	if err := r.deploy(ctx, file, code); err != nil {
		return err
	}
	if err := r.trade(ctx); err != nil {
		return err
	}
	return r.lives(ctx)
}

// deploy writes a buffer, hands it to the vault, compares it and uses it, which only the vault can.
func (r *rehearsal) deploy(ctx context.Context, file string, code []byte) error {
	deployer := r.net.Keys.Authority
	buffer, err := r.loader.buffer(ctx, deployer, code)
	if err != nil {
		return err
	}
	if err := r.loader.hand(ctx, buffer, deployer, r.vault.Address()); err != nil {
		return err
	}
	if err := r.loader.hand(ctx, buffer, deployer, deployer.Address()); err == nil {
		return errors.New("the deployer still has authority over the buffer")
	}
	if err := r.equal(ctx, file, "--buffer", buffer.String()); err != nil {
		return err
	}
	if err := r.loader.extend(ctx, market.ProgramID, len(code), deployer); err != nil {
		return fmt.Errorf("make room for the program: %w", err)
	}
	if err := r.loader.upgrade(ctx, market.ProgramID, buffer, deployer); err == nil {
		return errors.New("the deployer can still replace the program")
	}
	if err := r.loader.upgrade(ctx, market.ProgramID, buffer, r.vault); err != nil {
		return err
	}
	return r.equal(ctx, file)
}
