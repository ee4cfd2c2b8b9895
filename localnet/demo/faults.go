package demo

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/bits"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

var solanaZero solana.PublicKey

// waitFault waits until a fault of the node is open; lease is zero for a fault of the node alone.
func (d *demo) waitFault(ctx context.Context, node, lease solana.PublicKey) (market.Fault, error) {
	var found market.Fault
	err := d.until(ctx, 60*time.Second, "a fault of node "+short(node), func(v *view.View) bool {
		for _, f := range v.FaultsOf(node) {
			if f.Lease == lease {
				found = f
				return true
			}
		}
		return false
	})
	return found, err
}

// voters says how many keepers stand behind a period's root.
func (d *demo) voters(period uint64) string {
	report, ok := d.view.Report(period)
	if !ok {
		return ""
	}
	count := 0
	for _, c := range report.Candidates {
		if c.Root == report.Root {
			for _, b := range c.Voters {
				count += bits.OnesCount8(b)
			}
		}
	}
	return fmt.Sprintf("%d of %d keepers", count, keeperCount)
}

// slashed waits until a fault is applied after its appeal window, and checks where the stake went.
func (d *demo) slashed(ctx context.Context, step int, fault market.Fault) (*bindings.SlashApplied, error) {
	err := d.until(ctx, 40*time.Second, "fault "+short(fault.Address)+" to be applied", func(v *view.View) bool {
		f, ok := v.Fault(fault.Address)
		return !ok || f.Applied()
	})
	if err != nil {
		return nil, err
	}
	history, err := d.past(ctx, fault.Address)
	if err != nil {
		return nil, err
	}
	done, event, ok := invariants.Find(history, func(e *bindings.SlashApplied) bool { return e.Fault == fault.Address })
	if !ok {
		return nil, fmt.Errorf("fault %s is gone without a slash", fault.Address)
	}
	d.audits.add(audited{
		command: []string{"audit", "slash", fault.Address.String()}, customer: d.net.Keys.Customers[0],
		what: "the slash of node " + short(fault.Node),
	})
	equal(d.expect, event.Amount, fault.Amount, "the slash of "+short(fault.Node)+" takes the fault's amount")
	equal(d.expect, event.Pool+event.Finder+event.Burned, event.Amount, "the victims' and the finder's part and what was burned are the whole slash")
	d.expect.that(event.Burned >= event.Amount-event.Amount/2, "at least half of the slash is burned")
	d.expect.that(event.Finder <= event.Amount*uint64(fault.FinderBps)/market.BPS, "the finder gets no more than its share")
	applied := event.ClaimsUntil - int64(fault.ClaimSecs)
	d.expect.that(applied >= fault.ApplicableAt, "the slash waited for the appeal window", "applied at %d, allowed from %d", applied, fault.ApplicableAt)
	d.out.note(step, fmt.Sprintf("slashed %s GNT after the appeal window: for those it harmed %s · finder %s · burned %s   %s",
		market.GNT(event.Amount), market.GNT(event.Pool), market.GNT(event.Finder), market.GNT(event.Burned), tx(done.Signature)))
	return event, nil
}

// opened is what the transaction that opened a fault proved.
type opened struct {
	leaf  records.Leaf
	raw   [records.LeafSize]byte
	path  uint32
	proof [][32]byte
	sig   solana.Signature
}

// readOpening finds the transaction that opened a fault and reads leaf and proof from its own bytes.
func (d *demo) readOpening(ctx context.Context, fault market.Fault) (opened, error) {
	history, err := d.past(ctx, fault.Address)
	if err != nil {
		return opened{}, err
	}
	open, _, ok := invariants.Find(history, func(e *bindings.FaultOpened) bool { return e.Fault == fault.Address })
	if !ok {
		return opened{}, fmt.Errorf("the opening of fault %s is not in its history", fault.Address)
	}
	landed, err := d.net.Chain.Transaction(ctx, open.Signature, chain.Confirmed)
	if err != nil {
		return opened{}, err
	}
	for _, ix := range landed.Tx.Message.Instructions {
		if invariants.InstructionName(ix.Data) != "fault_open" {
			continue
		}
		o := opened{sig: open.Signature}
		if err := o.parse(ix.Data[8:]); err != nil {
			return opened{}, err
		}
		// Keepers open several faults in one transaction.
		if o.leaf.Node == fault.Node && (!fault.HasLease() || o.leaf.Lease == fault.Lease) {
			return o, nil
		}
	}
	return opened{}, fmt.Errorf("transaction %s does not open fault %s", open.Signature, fault.Address)
}

// parse reads of_node u8 ‖ leaf 176 ‖ path u32 ‖ count u32 ‖ count × 32.
func (o *opened) parse(data []byte) error {
	const head = records.LeafSize + 8
	if len(data) <= head {
		return fmt.Errorf("a fault_open of %d bytes: %w", len(data), records.ErrLength)
	}
	data = data[1:] // what the fault is of
	copy(o.raw[:], data)
	u32 := func(at int) uint32 {
		return uint32(data[at]) | uint32(data[at+1])<<8 | uint32(data[at+2])<<16 | uint32(data[at+3])<<24
	}
	o.path = u32(records.LeafSize)
	count := int(u32(records.LeafSize + 4))
	if len(data) != head+32*count {
		return fmt.Errorf("a proof of %d entries in %d bytes: %w", count, len(data)-head, records.ErrLength)
	}
	for i := range count {
		o.proof = append(o.proof, [32]byte(data[head+32*i:]))
	}
	var err error
	o.leaf, err = records.DecodeLeaf(o.raw[:])
	return err
}

// printProof shows why a node is slashed, and checks it without trusting any keeper: the leaf, the path to the root
// that more than two thirds of the bonds voted for, and the statements that the keepers signed.
func (d *demo) printProof(ctx context.Context, step int, fault market.Fault) error {
	o, err := d.readOpening(ctx, fault)
	if err != nil {
		return err
	}
	// The report may be closed by now: its root is in its history.
	history, err := d.past(ctx, market.ReportAddress(fault.Period))
	if err != nil {
		return err
	}
	_, final, ok := invariants.Find(history, func(e *bindings.ReportFinalised) bool { return e.Period == fault.Period })
	if !d.expect.that(ok, "the report of the fault can be read") {
		return nil
	}
	root := proofRoot(o.raw[:], o.path, o.proof)
	d.expect.that(root == final.Root, "the false H100's leaf leads to the report's root")
	lines := []string{
		fmt.Sprintf("proof   leaf  node %s period %d · checks %d of %d · flags %v · measured %d · 10⁹ operations/s, %d MB/s", short(o.leaf.Node),
			o.leaf.Period, o.leaf.ChecksPassed, o.leaf.ChecksTotal, o.leaf.Flags, o.leaf.Operations, o.leaf.Bandwidth),
		fmt.Sprintf("        path  %0*b, %d entries", max(1, len(o.proof)), o.path, len(o.proof)),
	}
	for _, sibling := range o.proof {
		lines = append(lines, "              "+hex.EncodeToString(sibling[:16])+"…")
	}
	lines = append(lines, fmt.Sprintf("        root  %s…   opened in %s", hex.EncodeToString(root[:16]), tx(o.sig)))
	d.out.note(step, lines...)
	return d.printStatements(ctx, step, fault)
}
