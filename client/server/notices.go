package server

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	// noticesEvery is the time between two looks at what needs a person.
	noticesEvery = time.Minute
	// unattendedFor is how long a lease may be without its job before the server sends a notice.
	unattendedFor = 10 * time.Minute
	// oldEnd is the age from which on the end of a lease is not worth a notice: a new server sees old leases too.
	oldEnd = 24 * time.Hour
	// nearlyUsed is the part of a budget, percent, at which the server sends a notice.
	nearlyUsed = 80
)

const groupAccount = "account"

// notifyNext is the next step in the error about a URL that cannot be used.
const notifyNext = "how to write it: docs/operate/alerts.md"

// noticeSource names this server in notices.
func noticeSource() string { return alert.Source("gantry serve") }

// TestNotify sends a test notice to each URL, and returns their names without secrets.
func TestNotify(ctx context.Context, urls []string) (string, error) {
	targets, err := alert.ParseAll(urls)
	if err != nil {
		return "", service.Usage("--notify: "+err.Error(), notifyNext)
	}
	if len(targets) == 0 {
		return "", service.Usage("--notify-test needs a URL", "give one with --notify")
	}
	return alert.Names(targets), alert.Test(ctx, targets, noticeSource())
}

// Notify sends what needs a person to the URLs while the server runs. Call it before Run.
func (s *Server) Notify(urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	targets, err := alert.ParseAll(urls)
	if err != nil {
		return service.Usage("--notify: "+err.Error(), notifyNext)
	}
	s.notices, err = alert.New(alert.Options{
		Targets: targets, Memory: s.HTTP.Events.Notices(), Source: noticeSource(), Log: s.a.Log.With().Str("part", "notices").Logger(),
	})
	return err
}

// notify sends notices until ctx ends. An error in it does not end the server.
func (s *Server) notify(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.notices.Run(ctx) })
	g.Go(func() error { return s.watchAccount(ctx) })
	g.Go(func() error {
		for {
			err := s.HTTP.Events.Each(ctx, "notices", func(e serve.Event) {
				if n, ok := ended(e, time.Now()); ok {
					s.notices.Event(n)
				}
			})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.a.Log.Warn().Err(err).Msg("ends of leases cannot be read for notices; the server tries again")
			if err := wait.For(ctx, noticesEvery); err != nil {
				return err
			}
		}
	})
	return g.Wait()
}

// watchAccount tells people what lasts, until ctx ends.
func (s *Server) watchAccount(ctx context.Context) error {
	told := false // that a budget cannot be read
	for {
		names, held, err := s.budgets.known()
		if err != nil && !told {
			s.a.Log.Warn().Err(err).Msg("budgets cannot be read; no notices about them are sent until they can")
		}
		told = err != nil
		if v := s.a.Service.Followed(s.a.Customer); v != nil && err == nil {
			s.notices.Standing(groupAccount, standing(v, s.a.Customer, names, held))
		}
		if err := wait.For(ctx, noticesEvery); err != nil {
			return err
		}
	}
}

// known are the names of all budgets by their keys, and all their purchases.
func (b *budgets) known() (names map[solana.PublicKey]string, held []purchase.Purchase, err error) {
	names = map[solana.PublicKey]string{b.main.Key.PublicKey(): team.MainBudget}
	t, err := b.team.Team()
	if err != nil {
		return names, nil, err
	}
	for _, one := range t.Budgets {
		if key, err := solana.PublicKeyFromBase58(one.Key); err == nil {
			names[key] = one.Name
		}
	}
	all, err := b.all()
	for _, x := range all {
		mine, bad := x.folder.All()
		if err == nil {
			err = bad
		}
		held = append(held, mine...)
	}
	return names, held, err
}

// ended is the notice that a lease is over; false for other events.
func ended(e serve.Event, now time.Time) (alert.Notice, bool) {
	l := e.Lease
	if l == nil {
		return alert.Notice{}, false
	}
	over := l.Status == market.LeaseEnded.String() || l.Status == market.LeaseFailed.String()
	if !over || now.Sub(time.Unix(e.At, 0)) > oldEnd || (l.EndedAt > 0 && now.Sub(time.Unix(l.EndedAt, 0)) > oldEnd) {
		return alert.Notice{}, false
	}
	why := l.EndReason
	if why == "" {
		why = market.EndedFailed.String()
	}
	n := alert.Notice{
		Key: fmt.Sprintf("lease-ended/%s/%d", l.Address, l.AwardedAt), Subject: "A lease has ended: " + why, Severity: alert.Warning,
		Text: fmt.Sprintf("Lease %s of %d GPUs (%s) at %s USDC per GPU-hour has ended: %s. Paid so far: %s USDC.\n\nIts history: gantry audit %s",
			l.Address, l.GPUs, l.Model, l.Price, why, l.Paid, l.Address),
	}
	if why == market.EndedByCustomer.String() || why == market.EndedJobDone.String() {
		n.Severity = alert.Info
	}
	return n, true
}

// standing says what of a customer's account needs a person, and lasts. It is pure.
func standing(v *view.View, customer solana.PublicKey, names map[solana.PublicKey]string, held []purchase.Purchase) []alert.Notice {
	var out []alert.Notice
	add := func(s alert.Severity, key, subject, format string, args ...any) {
		out = append(out, alert.Notice{Key: key, Subject: subject, Text: fmt.Sprintf(format, args...), Severity: s})
	}
	c, _ := v.CreditsOf(customer)
	for key, name := range names {
		k, _ := c.SessionKeyOf(key)
		if !reached(k.Spent, k.Cap) {
			continue
		}
		add(alert.Warning, "budget/"+name, fmt.Sprintf("The budget %s is used to %d %%", name, nearlyUsed),
			"Its session key %s has reserved %s of %s USDC.\n\nTo do: give it a higher cap with gantry session add", key, market.USDC(min(k.Spent, k.Cap)), market.USDC(k.Cap))
	}
	if reached(c.Credits.Reserved, c.Balance) {
		add(alert.Warning, "credits", fmt.Sprintf("The credits are used to %d %%", nearlyUsed),
			"Orders and leases hold %s of %s USDC. Leases end when credits run out.\n\nTo do: gantry credits add", market.USDC(c.Credits.Reserved), market.USDC(c.Balance))
	}
	for _, p := range held {
		if p.TooFew() && p.Args.Customer == customer {
			add(alert.Critical, fmt.Sprintf("group-short/%s/%d", p.Order, p.Short.Since), "A group has too few machines",
				"Fewer than %d machines of order %s run. The others are ended at %s UTC, unless enough run again.\n\nTo do: gantry cluster status %s, and gantry cluster scale to add machines", p.MinNodes, p.Order, service.When(p.Short.Until), p.Order)
		}
		if p.Args.Customer != customer || (p.Stage != purchase.Intended && p.Stage != purchase.Placed) {
			continue
		}
		for _, l := range v.LeasesOfOrder(p.Order) {
			if l.State() != market.LeaseAwarded && l.State() != market.LeaseRunning {
				continue
			}
			add(alert.Critical, fmt.Sprintf("unattended/%s/%d", l.Address, l.AwardedAt), "A lease has no job",
				"Lease %s of order %s did not get its job. A lease is billed from its start on.\n\nTo do: gantry resume %s, or gantry stop %s", l.Address, p.Order, p.Order, l.Address)
			out[len(out)-1].After = unattendedFor
		}
	}
	for _, l := range v.LeasesOfCustomer(customer) {
		if d, ok := v.DisputeOf(l.Address); ok {
			add(alert.Warning, fmt.Sprintf("dispute/%s/%d", l.Address, d.OpenedAt), "A lease is disputed",
				"Lease %s: %s. Keepers vote until %s UTC.\n\nTo do: gantry dispute read %s", l.Address, market.DisputeKind(d.Kind),
				time.Unix(d.ClosesAt, 0).UTC().Format("2006-01-02 15:04"), l.Address)
		}
	}
	return out
}

// reached reports whether so much of a limit is used that a notice is due.
func reached(used, limit uint64) bool {
	high, low := bits.Mul64(used, 100)
	mostHigh, mostLow := bits.Mul64(limit, nearlyUsed)
	return limit > 0 && (high > mostHigh || (high == mostHigh && low >= mostLow))
}
