package provide

import (
	"cmp"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/rewards"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func rewardsCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "rewards", Usage: "what becomes of the market's fees",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "fees that wait, what keepers have earned, the buy-back's price now", Action: action(s, (*session).rewardsShow)},
			{
				Name: "claim", Usage: "pay a keeper what its awards and votes have earned; anyone may, the money goes to the keeper",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "keeper", Usage: "`WALLET` of the keeper (default: yours)"}},
				Action: action(s, (*session).rewardsClaim),
			},
			{
				Name: "emission", Usage: "stake what fees of a provider's customers have earned it by emission; anyone may",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "provider", Usage: "`WALLET` of the provider (default: yours)"}},
				Action: action(s, (*session).rewardsEmission),
			},
			{
				Name: "buy-back", Usage: "burn GNT of yours for all the USDC that wait for it",
				Description: "The GNT are gone for good. The amount to burn falls for a day from the start of the buy-back. It starts at the fees' worth at half of " +
					"the price that governance set, and ends at the worth at twice that price. No exchange's price is used. The first sender gets all fees.",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "max", Usage: "burn at most `GNT`"}},
				Action: action(s, (*session).rewardsBuyBack),
			},
		},
	}}
}

// rewards reads the market and the account of its fees.
func (s *session) rewards() (market.Market, market.Rewards, error) {
	mk, err := s.Market()
	if err != nil {
		return mk, market.Rewards{}, err
	}
	r, err := rewards.Find(s.Context, s.Client)
	return mk, r, err
}

func (s *session) rewardsShow() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	mk, r, err := s.rewards()
	if err != nil {
		return err
	}
	v, now, err := s.SnapshotNow(command.Only(market.KindKeeper, market.KindReport))
	if err != nil {
		return err
	}
	out, err := rewards.Describe(&r, v, market.USDC(mk.Params.StakePrice), now)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) {
		w.Pairs([2]string{"not split yet", out.Pending + " USDC"}, [2]string{"for awards, not claimed", out.ForAwards + " USDC"},
			[2]string{"for votes, not claimed", out.ForVotes + " USDC"}, [2]string{"last rewarded period", fmt.Sprint(out.LastPeriod)},
			[2]string{"buy-back", out.BuyBack.Text()}, [2]string{"burned by buy-backs", out.BuyBack.Burned + " GNT"})
		if len(out.Keepers) == 0 {
			fmt.Fprintln(w, "no keepers")
			return
		}
		fmt.Fprintln(w)
		rows := make([][]string, len(out.Keepers))
		for i, k := range out.Keepers {
			rows[i] = []string{k.Wallet, k.Awards, k.Votes, fmt.Sprint(len(k.Periods)), k.Total}
		}
		w.Table("KEEPER|>AWARDS USDC~2|>VOTES USDC~1|>REPORTS~3|>CLAIMABLE USDC", rows)
	})
}

func (s *session) rewardsClaim() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	wallet, err := s.WalletOr(s.CLI.String("keeper"), "keeper's wallet")
	if err != nil {
		return err
	}
	mk, key, err := s.Open()
	if err != nil {
		return err
	}
	k, err := s.Reader().Keeper(s.Context, wallet)
	if err != nil {
		return err
	}
	v, err := s.Snapshot(command.Only(market.KindReport))
	if err != nil {
		return err
	}
	out, err := rewards.ClaimFor(s.Context, s.Client, &mk, v, &k, key.PublicKey(), s.Sends)
	if err != nil {
		return err
	}
	err = s.Done(out, func(w *terminal.Page) {
		if !out.Known() {
			fmt.Fprintf(w, "paid to keeper %s: how much is NOT KNOWN   tx %s\n", out.Keeper, out.Last())
			return
		}
		fmt.Fprintf(w, "%s USDC paid to keeper %s: %s for awards, %s for votes   tx %s\n", out.Total, out.Keeper, out.Awards, out.Votes, out.Last())
	})
	return cmp.Or(err, out.Failure(out.Last()))
}

func (s *session) rewardsBuyBack() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	if s.CLI.String("max") == "" {
		return service.Usage("--max is missing", "say how many GNT you would burn at most; what it costs now: gantry rewards show")
	}
	most, err := market.ParseGNT(s.CLI.String("max"))
	if err != nil {
		return service.Usage("--max: "+err.Error(), "give GNT such as 25 or 12.5")
	}
	a, tx, err := s.Act(func(d *operate.Desk) (operate.Action, error) { return rewards.Buy(s.Context, d, most) })
	if err != nil {
		return err
	}
	out := rewards.BoughtBack(s.Context, s.Client, a.Of, tx)
	err = s.Done(out, func(w *terminal.Page) {
		if !out.Known() {
			fmt.Fprintf(w, "bought back: how much was burned and received is NOT KNOWN   tx %s\n", tx.Signature)
			return
		}
		fmt.Fprintf(w, "burned %s GNT, received %s USDC   tx %s\n", out.Burned, out.Paid, tx.Signature)
	})
	return cmp.Or(err, out.Failure(tx.Signature))
}

// rewardsEmission sends emission_claim for a provider.
func (s *session) rewardsEmission() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	wallet, err := s.WalletOr(s.CLI.String("provider"), "provider's wallet")
	if err != nil {
		return err
	}
	_, tx, err := s.Act(func(d *operate.Desk) (operate.Action, error) { return rewards.Emit(s.Context, d, wallet) })
	if err != nil {
		return err
	}
	out := rewards.Emitted(s.Context, s.Client, wallet, tx)
	err = s.Done(out, func(w *terminal.Page) {
		if !out.Known() {
			fmt.Fprintf(w, "staked for provider %s: how much is NOT KNOWN   tx %s\n", wallet, tx.Signature)
			return
		}
		fmt.Fprintf(w, "%s GNT staked for provider %s, %s GNT left to claim   tx %s\n", out.Staked, wallet, out.Left, tx.Signature)
	})
	return cmp.Or(err, out.Failure(tx.Signature))
}
