package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/keeper/server"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// gauges are read when metrics are asked for, while the keeper is open.
func (k *Keeper) gauges() []server.Gauge {
	count := func(n int) float64 { return float64(n) }
	strangers := func() (waiting, refused float64) {
		w, r := k.node.Strangers()
		return float64(w), float64(r)
	}
	gauges := []server.Gauge{
		standby(0),
		{Name: "chain_slot", Help: "Newest slot that the keeper has seen.", Read: func() float64 { return float64(k.view.Slot()) }},
		{Name: "accounts", Help: "Accounts of the market that the keeper follows.", Read: func() float64 { return float64(k.watcher.Status().Accounts) }},
		{Name: "watcher_reconnects", Help: "How often the connection to the chain was made anew.", Read: func() float64 { return float64(k.watcher.Status().Reconnects) }},
		{Name: "transactions_in_flight", Help: "Transactions whose outcome is not known yet.", Read: func() float64 { return count(k.txm.InFlight()) }},
		{Name: "statements_held", Help: "Statements in the pool.", Read: func() float64 { return count(k.pool.Len()) }},
		{Name: "proofs_held", Help: "Proofs that are not resolved on chain.", Read: func() float64 { return count(k.proofs.Held()) }},
		{Name: "clock_ahead_seconds", Help: "How far this machine's clock is ahead of the chain's.", Read: func() float64 { return k.clock.Ahead().Seconds() }},
		{Name: "signing", Help: "1 while the keeper signs, 0 while it must not.", Read: func() float64 { return flag(k.unsafe() == nil) }},
		{Name: "store_writable", Help: "1 while the store takes what is written.", Read: func() float64 { return flag(k.signing.writeError() == nil) }},
		{Name: "peers", Help: "Peers that the keeper is connected to.", Read: func() float64 { return count(len(k.node.Peers())) }},
		{Name: "keepers_connected", Help: "Other keepers that the keeper is connected to.", Read: func() float64 { return count(k.gossip.Connected()) }},
		{Name: "relayed_circuits", Help: "Connections of others that the keeper relays.", Read: func() float64 {
			_, carried := k.node.Relaying()
			return float64(carried)
		}},
		{Name: "strangers", Help: "Connections of keys that take no part in the market.", Read: func() float64 {
			waiting, _ := strangers()
			return waiting
		}},
		{Name: "strangers_refused", Help: "Connections of such keys that the keeper has refused.", Read: func() float64 {
			_, refused := strangers()
			return refused
		}},
		{Name: "network_refusals", Help: "Requests and messages that the network layer has refused, for any reason.", Read: func() float64 {
			n := uint64(0)
			for _, v := range k.node.Refusals() {
				n += v
			}
			return float64(n)
		}},
	}
	if k.remote != nil {
		gauges = append(gauges, signerAnswers(k.remote))
	}
	return gauges
}

// standby says whether this keeper waits for another one to go.
func standby(waits float64) server.Gauge {
	return server.Gauge{Name: "standby", Help: "1 while the keeper stands by: another one has the signer's hold, or the signer does not answer.", Read: func() float64 { return waits }}
}

// signerAnswers is a figure of a keeper with a signer alone.
func signerAnswers(c *signing.Client) server.Gauge {
	return server.Gauge{Name: "signer_answers", Help: "1 while the signer answers; of a keeper with one only.", Read: func() float64 { return flag(c.Answers()) }}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// unsafe returns why the keeper signs nothing now; nil when it signs.
func (k *Keeper) unsafe() error {
	if err := k.damage.Load(); err != nil {
		return *err
	}
	return errors.Join(k.clock.err(), k.signing.writeError())
}

// healthy lists what only a person can repair.
func (k *Keeper) healthy() []string {
	if err := k.damage.Load(); err != nil {
		return []string{(*err).Error()}
	}
	return nil
}

// aloneAfter is how long after its start a keeper may be without another one: they may all be starting.
const aloneAfter = time.Minute

// ready lists what keeps this keeper from taking part.
func (k *Keeper) ready() []string {
	wrong := k.healthy()
	for _, err := range []error{k.clock.err(), k.signing.writeError()} {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if n, all := k.gossip.Connected(), k.gossip.Others(); all > 0 && n == 0 && time.Since(k.opened) > aloneAfter {
		wrong = append(wrong, fmt.Sprintf("connected to none of the other %d keepers", all))
	}
	st := k.watcher.Status()
	if !st.Connected {
		text := "not connected to the chain"
		if st.LastError != nil {
			text += ": " + st.LastError.Error()
		}
		wrong = append(wrong, text)
	}
	k.view.Read(func(v *view.Accounts) {
		me, ok := v.Keepers[k.publicKey()]
		switch {
		case !ok:
			wrong = append(wrong, "this wallet is not registered as a keeper")
		case me.State() != market.KeeperActive:
			wrong = append(wrong, fmt.Sprintf("keeper is %s", me.State()))
		}
	})
	return wrong
}
