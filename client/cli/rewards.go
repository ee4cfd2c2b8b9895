package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func rewardsCommands(s Streams) []*cli.Command {
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
				Name: "emission", Usage: "turn the fees that a provider's customers paid into stake, where governance has switched emission on; anyone may",
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

// daySecs is how long the price of a buy-back falls.
const daySecs = 86_400

// buyBackJSON is the running buy-back.
type buyBackJSON struct {
	Waiting  string `json:"waiting"` // USDC
	CostsNow string `json:"costsNow,omitempty"`
	Lowest   string `json:"lowestCost,omitempty"`
	Since    int64  `json:"since,omitempty"`
	LowestAt int64  `json:"lowestAt,omitempty"`
	Burned   string `json:"burnedSoFar"` // GNT, by all buy-backs
}

// earnedJSON is what a keeper may claim.
type earnedJSON struct {
	Wallet  string   `json:"wallet"`
	Awards  string   `json:"byAwards"`
	Votes   string   `json:"byVotes"`
	Periods []uint64 `json:"periods"` // of the reports that give something for its votes
	Total   string   `json:"total"`
}

// rewardsJSON is where the fees are.
type rewardsJSON struct {
	Pending    string       `json:"pending"` // swept, not split yet
	ForAwards  string       `json:"forAwards"`
	ForVotes   string       `json:"forVotes"`
	LastPeriod uint64       `json:"lastRewardedPeriod"`
	BuyBack    buyBackJSON  `json:"buyBack"`
	Keepers    []earnedJSON `json:"keepers"`
}

// earned is what a keeper may claim: for awards, for votes, and by which reports.
func earned(v *view.View, k *market.Keeper) (awards, votes market.USDC, periods []uint64) {
	periods = []uint64{}
	for _, r := range v.Reports() {
		if share := r.Share(k); share > 0 {
			votes += share
			periods = append(periods, r.Period)
		}
	}
	return market.USDC(k.Earned), votes, periods
}

// rewards reads the account of the market's fees.
func (s *session) rewards() (market.Market, market.Rewards, error) {
	mk, err := s.market()
	if err != nil {
		return mk, market.Rewards{}, err
	}
	r, ok, err := query.Find[market.Rewards](s.ctx, s.client, market.RewardsAddress(), s.waitLevel())
	if err == nil && !ok {
		err = refused("this market keeps no account of its fees", "its program is older than this command")
	}
	return mk, r, err
}

func describeBuyBack(r *market.Rewards, price market.USDC, now int64) (buyBackJSON, error) {
	out := buyBackJSON{Waiting: market.USDC(r.BuyBack).Exact(), Burned: market.GNT(r.BoughtBack).String()}
	if r.BuyBack == 0 {
		return out, nil
	}
	cost, err := r.BuyBackCost(price, now)
	if err != nil {
		return out, fmt.Errorf("price of the buy-back: %w", err)
	}
	lowest, err := r.BuyBackCost(price, r.BuyBackSince+daySecs)
	if err != nil {
		return out, fmt.Errorf("price of the buy-back: %w", err)
	}
	out.CostsNow, out.Lowest, out.Since, out.LowestAt = cost.String(), lowest.String(), r.BuyBackSince, r.BuyBackSince+daySecs
	return out, nil
}

func (s *session) rewardsShow() error {
	if _, err := s.args(); err != nil {
		return err
	}
	mk, r, err := s.rewards()
	if err != nil {
		return err
	}
	v, now, err := s.snapshotNow(only(market.KindKeeper, market.KindReport))
	if err != nil {
		return err
	}
	out := rewardsJSON{
		Pending: market.USDC(r.Pending).Exact(), ForAwards: market.USDC(r.Earned).Exact(), ForVotes: market.USDC(r.Allocated).Exact(),
		LastPeriod: r.LastPeriod, Keepers: []earnedJSON{},
	}
	if out.BuyBack, err = describeBuyBack(&r, market.USDC(mk.Params.StakePrice), now); err != nil {
		return err
	}
	for _, k := range v.Keepers() {
		awards, votes, periods := earned(v, &k)
		out.Keepers = append(out.Keepers, earnedJSON{k.Wallet.String(), awards.Exact(), votes.Exact(), periods, (awards + votes).Exact()})
	}
	return s.done(out, func(w io.Writer) {
		pairs(w, [2]string{"not split yet", out.Pending + " USDC"}, [2]string{"for awards, not claimed", out.ForAwards + " USDC"},
			[2]string{"for votes, not claimed", out.ForVotes + " USDC"}, [2]string{"last rewarded period", fmt.Sprint(out.LastPeriod)},
			[2]string{"buy-back", out.BuyBack.text()}, [2]string{"burned by buy-backs", out.BuyBack.Burned + " GNT"})
		if len(out.Keepers) == 0 {
			fmt.Fprintln(w, "no keepers")
			return
		}
		rows := make([][]string, len(out.Keepers))
		for i, k := range out.Keepers {
			rows[i] = []string{k.Wallet, k.Awards, k.Votes, fmt.Sprint(len(k.Periods)), k.Total}
		}
		table(w, "KEEPER|AWARDS USDC|VOTES USDC|REPORTS|CLAIMABLE USDC", rows)
	})
}

func (j buyBackJSON) text() string {
	if j.CostsNow == "" {
		return "nothing waits for one"
	}
	return fmt.Sprintf("%s USDC for %s GNT burned now; %s GNT from %s UTC on, if nobody takes it before", j.Waiting, j.CostsNow, j.Lowest, when(j.LowestAt))
}

// claimsPerTx keeps a transaction of claims far below its size limit.
const claimsPerTx = 6

// claimJSON is a claim as printed.
type claimJSON struct {
	Keeper string `json:"keeper"`
	Awards string `json:"byAwards,omitempty"`
	Votes  string `json:"byVotes,omitempty"`
	Total  string `json:"total,omitempty"`
	Txs    []sent `json:"transactions"`
	movedJSON
}

func (s *session) rewardsClaim() error {
	if _, err := s.args(); err != nil {
		return err
	}
	var wallet solana.PublicKey
	if text := s.cli.String("keeper"); text != "" {
		var err error
		if wallet, err = address(text, "keeper's wallet"); err != nil {
			return err
		}
	}
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	if wallet.IsZero() {
		wallet = key.PublicKey()
	}
	k, err := s.reader().Keeper(s.ctx, wallet)
	if err != nil {
		return err
	}
	v, err := s.snapshot(only(market.KindReport))
	if err != nil {
		return err
	}
	awards, votes, periods := earned(v, &k)
	if awards+votes == 0 {
		return refused(fmt.Sprintf("keeper %s has nothing to claim", wallet), "fees are shared after a report is final and its next period is over: gantry rewards show")
	}
	if len(periods) == 0 {
		periods = []uint64{0} // awards alone
	}
	out := claimJSON{Keeper: wallet.String()}
	var byAwards, byVotes market.USDC
	for len(periods) > 0 {
		n := min(len(periods), claimsPerTx)
		ixs := []solana.Instruction{ix.CreateTokenAccount(key.PublicKey(), wallet, mk.PaymentMint)}
		for _, p := range periods[:n] {
			instruction, err := ix.RewardsClaim(ix.RewardsClaimArgs{Keeper: wallet, PaymentMint: mk.PaymentMint, Period: p})
			if err != nil {
				return err
			}
			ixs = append(ixs, instruction)
		}
		periods = periods[n:]
		tx, err := s.send("rewards_claim", ixs)
		if err != nil {
			return err
		}
		out.Txs = append(out.Txs, tx)
		for _, e := range eventsOf[bindings.RewardsClaimed](s.ctx, s.client, s.waitLevel(), tx, &out.movedJSON) {
			byAwards, byVotes = byAwards+market.USDC(e.ByAwards), byVotes+market.USDC(e.ByVote)
		}
	}
	last := out.Txs[len(out.Txs)-1].Signature
	if out.known() {
		out.Awards, out.Votes, out.Total = byAwards.Exact(), byVotes.Exact(), (byAwards + byVotes).Exact()
	}
	err = s.done(out, func(w io.Writer) {
		if !out.known() {
			fmt.Fprintf(w, "paid to keeper %s: how much is NOT KNOWN   tx %s\n", out.Keeper, last)
			return
		}
		fmt.Fprintf(w, "%s USDC paid to keeper %s: %s for awards, %s for votes   tx %s\n", out.Total, out.Keeper, out.Awards, out.Votes, last)
	})
	return cmp.Or(err, out.failure(last))
}

// boughtJSON is a buy-back as printed.
type boughtJSON struct {
	Buyer  string `json:"buyer"`
	Burned string `json:"burned,omitempty"` // GNT
	Paid   string `json:"paid,omitempty"`   // USDC
	Tx     sent   `json:"transaction"`
	movedJSON
}

func (s *session) rewardsBuyBack() error {
	if _, err := s.args(); err != nil {
		return err
	}
	if s.cli.String("max") == "" {
		return usage("--max is missing", "say how many GNT you would burn at most; what it costs now: gantry rewards show")
	}
	most, err := market.ParseGNT(s.cli.String("max"))
	if err != nil {
		return usage("--max: "+err.Error(), "give GNT such as 25 or 12.5")
	}
	key, err := s.wallet()
	if err != nil {
		return err
	}
	mk, r, err := s.rewards()
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	wallet := key.PublicKey()
	cost, err := affordable(&r, market.USDC(mk.Params.StakePrice), most, now)
	if err != nil {
		return err
	}
	if err := operate.HasGNT(s.ctx, s.service, "buy-back", wallet, mk.StakeMint, cost); err != nil {
		return err
	}
	if err := s.confirm("buy back at most %s GNT of the wallet are burned, %s now", most, cost); err != nil {
		return err
	}
	instruction, err := ix.RewardsBuyBack(ix.RewardsBuyBackArgs{Buyer: wallet, PaymentMint: mk.PaymentMint, StakeMint: mk.StakeMint, MaxBurn: most})
	if err != nil {
		return err
	}
	tx, err := s.send("rewards_buy_back", []solana.Instruction{ix.CreateTokenAccount(wallet, wallet, mk.PaymentMint), instruction})
	if err != nil {
		return err
	}
	out := boughtJSON{Buyer: wallet.String(), Tx: tx}
	for _, e := range eventsOf[bindings.BoughtBack](s.ctx, s.client, s.waitLevel(), tx, &out.movedJSON) {
		out.Burned, out.Paid = market.GNT(e.Burned).String(), market.USDC(e.Paid).Exact()
	}
	err = s.done(out, func(w io.Writer) {
		if !out.known() {
			fmt.Fprintf(w, "bought back: how much was burned and received is NOT KNOWN   tx %s\n", tx.Signature)
			return
		}
		fmt.Fprintf(w, "burned %s GNT, received %s USDC   tx %s\n", out.Burned, out.Paid, tx.Signature)
	})
	return cmp.Or(err, out.failure(tx.Signature))
}

// affordable is what the buy-back costs now, or why it is not to be had for most.
func affordable(r *market.Rewards, price market.USDC, most market.GNT, now int64) (market.GNT, error) {
	if r.BuyBack == 0 {
		return 0, refused("no fees wait for a buy-back", "they come when swept fees are split: gantry rewards show")
	}
	cost, err := r.BuyBackCost(price, now)
	if err != nil {
		return 0, fmt.Errorf("price of the buy-back: %w", err)
	}
	if cost <= most {
		return cost, nil
	}
	reason := fmt.Sprintf("buy-back refused: %s USDC cost %s GNT now, --max is %s", market.USDC(r.BuyBack).Exact(), cost, most)
	// What it costs only falls: the first second in which it is cheap enough.
	early, late := max(now, r.BuyBackSince), r.BuyBackSince+daySecs
	if least, err := r.BuyBackCost(price, late); err != nil || least > most || late < early {
		return 0, refused(reason, "raise --max; it never costs less than "+least.String())
	}
	for early < late {
		middle := early + (late-early)/2
		if c, err := r.BuyBackCost(price, middle); err == nil && c <= most {
			late = middle
		} else {
			early = middle + 1
		}
	}
	return 0, refused(reason, fmt.Sprintf("raise --max, or wait until %s UTC, if nobody takes it before", when(late)))
}
