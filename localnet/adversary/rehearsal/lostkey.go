package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// formerTimeout bounds how long a keeper may run with a key that signs for no keeper any more.
const formerTimeout = 30 * time.Second

// hotKey makes a key for a keeper, with SOL for what it sends.
func (r *rehearsal) hotKey(ctx context.Context, name string) (seed.Wallet, error) {
	key, err := seed.OpenWallet(filepath.Join(r.net.Dir(), "keys"), name)
	if err != nil {
		return key, err
	}
	return key, r.net.Sender().Airdrop(ctx, key.Address(), 10*chain.SOL)
}

// hotKeys gives each keeper a key of its own: no wallet is on a keeper's machine.
func (r *rehearsal) hotKeys(ctx context.Context) error {
	for _, k := range r.net.Keys.Keepers {
		key, err := r.hotKey(ctx, k.Name+"-hot")
		if err != nil {
			return err
		}
		r.net.UseSigner(k.Name, key)
	}
	return nil
}

// loseKey backs the last keeper's evidence up and takes its machine away with its key and all that it had, which somebody
// else has now. The wallet names another key; the keeper is set up again by that key and the backup. It has no store of what it
// signed, and so signs nothing about periods that are not over.
func (r *rehearsal) loseKey(ctx context.Context) error {
	index := keepers - 1
	wallet := r.net.Keys.Keepers[index]
	data, backup := r.net.DataDir(wallet.Name), filepath.Join(r.net.Dir(), "backup-of-"+wallet.Name)
	stolen := filepath.Join(r.net.Dir(), "stolen-from-"+wallet.Name)
	offline := filepath.Join(r.net.Dir(), "offline-"+wallet.Name)
	if err := errors.Join(os.RemoveAll(backup), os.RemoveAll(stolen), os.RemoveAll(offline)); err != nil { // of an earlier rehearsal
		return err
	}
	copied, err := r.evidence(ctx, "backup", data, backup)
	if err != nil {
		return err
	}
	if copied == 0 {
		return errors.New("the keeper has no bundle of evidence: nothing could be restored")
	}
	if err := r.net.Fail(ctx, wallet.Name); err != nil {
		return err
	}
	if err := os.Rename(data, stolen); err != nil {
		return err
	}
	next, err := r.hotKey(ctx, wallet.Name+"-hot-2")
	if err != nil {
		return err
	}
	if err := r.nameSigner(ctx, wallet, next, offline); err != nil {
		return err
	}
	if err := r.formerKey(ctx, wallet, stolen); err != nil {
		return err
	}
	if restored, err := r.evidence(ctx, "restore", data, backup); err != nil || restored != copied {
		return errors.Join(err, fmt.Errorf("%d bundles of %d were restored", restored, copied))
	}
	r.net.UseSigner(wallet.Name, next)
	if err := r.net.StartKeeper(ctx, index); err != nil {
		return err
	}
	if err := r.votes(ctx, index); err != nil {
		return err
	}
	return r.trade(ctx)
}

// nameSigner has a key agree on the keeper's new machine, and the wallet name it where the wallet is: neither file leaves its machine.
func (r *rehearsal) nameSigner(ctx context.Context, wallet, next seed.Wallet, dir string) error {
	consent, err := r.net.KeeperCommand(ctx, next, dir, "consent", wallet.Address().String())
	if err = errors.Join(err, consent.Err()); err != nil {
		return err
	}
	before, ok := r.view.Keeper(market.KeeperAddress(wallet.Address()))
	if !ok {
		return fmt.Errorf("%s has no keeper", wallet.Name)
	}
	out, err := r.net.KeeperCommand(ctx, wallet, dir, "set-signer", "--signer", strings.TrimSpace(consent.Stdout))
	if err = errors.Join(err, out.Err()); err != nil {
		return err
	}
	return r.until(ctx, "the chain names the new key", func(v *view.View) bool {
		k, ok := v.Keeper(market.KeeperAddress(wallet.Address()))
		return ok && k.Signer == next.Address() && k.FormerSigner == before.Signer && k.Bond == before.Bond
	})
}

// formerKey is what a thief of the machine tries: the former key runs no keeper, with its store and all, and names no other key.
func (r *rehearsal) formerKey(ctx context.Context, wallet seed.Wallet, stolen string) error {
	former, err := seed.OpenWallet(filepath.Join(r.net.Dir(), "keys"), wallet.Name+"-hot")
	if err != nil {
		return err
	}
	runCtx, cancel := context.WithTimeout(ctx, formerTimeout)
	defer cancel()
	out, err := r.net.KeeperCommand(runCtx, former, stolen, "run", "--keeper", wallet.Address().String(), "--listen", "/ip4/127.0.0.1/tcp/0", "--localnet")
	switch {
	case err != nil:
		return err
	case runCtx.Err() != nil || out.Code == 0 || !strings.Contains(out.Stdout+out.Stderr, daemon.ErrKey.Error()):
		return fmt.Errorf("the former key runs a keeper: exit code %d, %s", out.Code, out.Stderr)
	}
	out, err = r.net.KeeperCommand(ctx, former, stolen, "set-signer")
	switch {
	case err != nil:
		return err
	case out.Code == 0:
		return errors.New("the former key names another one")
	}
	return nil
}

// evidence runs a subcommand of `gantry-keeper evidence` and returns how many bundles it copied.
func (r *rehearsal) evidence(ctx context.Context, what, data, backup string) (int, error) {
	program, err := network.Binary("gantry-keeper")
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, program, "evidence", what, "--json", "--data", data, backup)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return 0, fmt.Errorf("evidence %s: %w", what, err)
	}
	return bundles(out)
}
