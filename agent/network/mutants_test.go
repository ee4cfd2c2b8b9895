package network

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// equivalent are mutants that no packet can tell from the table as it is, and why. To those of rules about ranges to which
// the kernel forwards nothing see forwarded.
var equivalent = map[string]string{
	"forward: from lease → accept: removed":                                             "what no rule decides is accepted",
	"forward: to lease, state 06000000 → accept: without to lease":                      "of others, no later rule drops an answer",
	"masquerade: from lease, to in set uplinks → masquerade: without to in set uplinks": "leases leave by no other interface",
}

// condition is a part of a rule that a packet must meet.
type condition struct {
	exprs []expr.Any
	text  string
}

// parts splits a rule into its conditions and what it does with a packet that meets them.
func parts(exprs []expr.Any) (conditions []condition, action []expr.Any) {
	begin := 0
	for i, e := range exprs {
		switch e.(type) {
		case *expr.Cmp, *expr.Lookup:
			part := exprs[begin : i+1]
			conditions = append(conditions, condition{part, textOf(part)})
			begin = i + 1
		}
	}
	return conditions, exprs[begin:]
}

// textOf describes a condition.
func textOf(part []expr.Any) string {
	not := func(op expr.CmpOp) string {
		if op == expr.CmpOpNeq {
			return "not "
		}
		return ""
	}
	switch last := part[len(part)-1].(type) {
	case *expr.Lookup:
		key := part[0].(*expr.Meta).Key
		inverted := map[bool]string{true: "not "}[last.Invert]
		return fmt.Sprintf("%s %sin set %s", map[expr.MetaKey]string{expr.MetaKeyIIFNAME: "from", expr.MetaKeyOIFNAME: "to"}[key], inverted, last.SetName)
	case *expr.Cmp:
		switch load := part[0].(type) {
		case *expr.Meta:
			switch load.Key {
			case expr.MetaKeyIIFNAME:
				return "from lease"
			case expr.MetaKeyOIFNAME:
				return "to lease"
			}
			return fmt.Sprintf("%s %x", map[expr.MetaKey]string{expr.MetaKeyNFPROTO: "family", expr.MetaKeyL4PROTO: "protocol"}[load.Key], last.Data)
		case *expr.Payload:
			if p, ok := prefixOf(part); ok {
				return "to " + not(last.Op) + p.String()
			}
			return "port " + fmt.Sprint(int(last.Data[0])<<8|int(last.Data[1]))
		case *expr.Ct:
			what := map[expr.CtKey]string{expr.CtKeySTATE: "state", expr.CtKeySTATUS: "status"}[load.Key]
			if last.Op == expr.CmpOpEq {
				what = "not " + what
			}
			return fmt.Sprintf("%s %x", what, part[1].(*expr.Bitwise).Mask)
		case *expr.Fib:
			if load.FlagSADDR {
				return "no way back"
			}
			return "for the machine"
		}
	}
	return fmt.Sprintf("%T", part[0])
}

// prefixOf is the range of destinations that a condition compares.
func prefixOf(part []expr.Any) (netip.Prefix, bool) {
	if len(part) != 3 {
		return netip.Prefix{}, false
	}
	load, isLoad := part[0].(*expr.Payload)
	mask, isMask := part[1].(*expr.Bitwise)
	cmp, isCmp := part[2].(*expr.Cmp)
	if !isLoad || !isMask || !isCmp || load.Base != expr.PayloadBaseNetworkHeader {
		return netip.Prefix{}, false
	}
	a, _ := netip.AddrFromSlice(cmp.Data)
	bits := 0
	for _, b := range mask.Mask {
		for ; b != 0; b <<= 1 {
			bits++
		}
	}
	return netip.PrefixFrom(a, bits), true
}

// mutant is a table with one rule changed; nil for a rule that is removed.
type mutant struct {
	name  string
	rule  *nftables.Rule
	exprs []expr.Any
}

// next is the condition after one; nil for the last.
func next(conditions []condition, i int) []expr.Any {
	if i+1 == len(conditions) {
		return nil
	}
	return conditions[i+1].exprs
}

// mutantsOf removes a rule, each of its conditions, and each half of the range that it is about.
func mutantsOf(r *nftables.Rule) (out []mutant) {
	conditions, action := parts(r.Exprs)
	for _, c := range conditions {
		if p, ok := prefixOf(c.exprs); ok && !forwarded(p) {
			return nil
		}
	}
	texts := make([]string, len(conditions))
	for i, c := range conditions {
		texts[i] = c.text
	}
	name := fmt.Sprintf("%s: %s → %s: ", r.Chain.Name, strings.Join(texts, ", "), actionText(action))
	out = append(out, mutant{name + "removed", r, nil})
	with := func(i int, replaced ...expr.Any) []expr.Any {
		var all []expr.Any
		for j, c := range conditions {
			if j == i {
				all = append(all, replaced...)
			} else {
				all = append(all, c.exprs...)
			}
		}
		return append(all, action...)
	}
	for i, c := range conditions {
		if _, compared := prefixOf(next(conditions, i)); !compared && !strings.HasPrefix(c.text, "protocol") { // else the rule compares other bytes
			out = append(out, mutant{name + "without " + c.text, r, with(i)})
		}
		p, ok := prefixOf(c.exprs)
		if !ok || p.Bits() == p.Addr().BitLen() {
			continue
		}
		cmp := c.exprs[2].(*expr.Cmp)
		if cmp.Op == expr.CmpOpNeq { // what is allowed becomes twice as much
			p, _ = p.Addr().Prefix(p.Bits() - 1)
			out = append(out, mutant{name + "with " + p.String(), r, with(i, notToRange(p)[2:]...)})
			continue
		}
		low, _ := p.Addr().Prefix(p.Bits() + 1)
		upper := p.Addr().AsSlice()
		upper[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
		a, _ := netip.AddrFromSlice(upper)
		for _, half := range []netip.Prefix{low, netip.PrefixFrom(a, p.Bits()+1)} {
			out = append(out, mutant{name + "with " + half.String(), r, with(i, toRange(half)[2:]...)})
		}
	}
	return out
}

func actionText(action []expr.Any) string {
	switch a := action[len(action)-1].(type) {
	case *expr.Verdict:
		text := map[expr.VerdictKind]string{expr.VerdictAccept: "accept", expr.VerdictDrop: "drop", expr.VerdictGoto: "goto "}[a.Kind]
		return text + a.Chain
	case *expr.Reject:
		return fmt.Sprintf("reject %d", a.Type)
	case *expr.Masq:
		return "masquerade"
	}
	return fmt.Sprintf("%T", action[len(action)-1])
}

// change makes the table the mutant.
func (m mutant) change(t *testing.T) {
	t.Helper()
	c, err := nftables.New()
	require.NoError(t, err)
	if m.exprs == nil {
		require.NoError(t, c.DelRule(m.rule))
	} else {
		c.ReplaceRule(&nftables.Rule{Table: m.rule.Table, Chain: m.rule.Chain, Handle: m.rule.Handle, Exprs: m.exprs})
	}
	require.NoError(t, c.Flush(), m.name)
}

// rulesOf reads the table's rules from the kernel.
func rulesOf(t *testing.T, owner string) (out []*nftables.Rule) {
	t.Helper()
	c, err := nftables.New()
	require.NoError(t, err)
	chains, err := c.ListChains()
	require.NoError(t, err)
	for _, chain := range chains {
		if chain.Table.Name == tableName(owner) {
			rules, err := c.GetRules(chain.Table, chain)
			require.NoError(t, err)
			out = append(out, rules...)
		}
	}
	return out
}

// Every rule of the table is removed in turn, and with GANTRY_EXHAUSTIVE=1 each of its conditions and each half of its
// range; some packet must show it. A mutant that none shows is a rule without a test, or is of no use: then it is named above, with the reason.
func TestHostileMutantsOfTheFirewallAreNoticed(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	w := newWatched(t)
	require.Empty(t, w.different(t, mostWait), "the table as it is")
	all := os.Getenv("GANTRY_EXHAUSTIVE") == "1"
	var survived []string
	seen := map[string]bool{}
	n := len(rulesOf(t, w.plan.Owner))
	require.Greater(t, n, 30)
	for i := range n {
		for j := 0; ; j++ {
			mutants := mutantsOf(rulesOf(t, w.plan.Owner)[i])
			if j == len(mutants) || (j > 0 && !all) {
				break
			}
			m := mutants[j]
			seen[m.name] = true
			m.change(t)
			by := w.different(t, 3*time.Second)
			require.NoError(t, w.plan.Apply())
			t.Logf("%s: %s", m.name, strings.Join(by, ", "))
			if len(by) == 0 && equivalent[m.name] == "" {
				survived = append(survived, m.name)
			}
		}
	}
	slices.Sort(survived)
	require.Empty(t, survived, strings.Join(survived, "\n"))
	for name := range equivalent {
		require.True(t, seen[name] || !all, "%s is not a mutant any more", name)
	}
	t.Logf("%d mutants of %d rules; %d change nothing", len(seen), n, len(equivalent))
}
