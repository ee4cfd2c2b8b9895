package audit

import (
	"context"
	"encoding/base64"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// ledger is what a node serves: the oldest transaction first.
type ledger []chain.Landed

func (g ledger) History(_ context.Context, key solana.PublicKey, _ chain.Commitment, _ int) ([]chain.SignatureInfo, error) {
	var out []chain.SignatureInfo
	for _, l := range slices.Backward(g) {
		if slices.Contains(l.Keys, key) {
			at := l.BlockTime.Unix()
			out = append(out, chain.SignatureInfo{Signature: l.Signature, Slot: l.Slot, BlockTime: &at})
		}
	}
	return out, nil
}

func (g ledger) Transaction(_ context.Context, sig solana.Signature, _ chain.Commitment) (chain.Landed, error) {
	for _, l := range g {
		if l.Signature == sig {
			return l, nil
		}
	}
	return chain.Landed{}, chain.ErrNotFound
}

// call is an instruction of the market.
func call(instruction [8]byte, data []byte, accounts ...solana.PublicKey) Instruction {
	return Instruction{Program: market.ProgramID, Accounts: accounts, Data: slices.Concat(instruction[:], data)}
}

// eventKinds are the discriminators of the events that these tests write.
var eventKinds = map[string][8]byte{
	"OrderCreated": bindings.Event_OrderCreated, "LeaseAwarded": bindings.Event_LeaseAwarded, "LeaseStarted": bindings.Event_LeaseStarted,
	"LeaseExtended": bindings.Event_LeaseExtended, "LeaseSettled": bindings.Event_LeaseSettled, "LeafApplied": bindings.Event_LeafApplied,
	"LeaseEnded": bindings.Event_LeaseEnded, "LeaseClosed": bindings.Event_LeaseClosed, "ReportVoted": bindings.Event_ReportVoted,
	"ReportFinalised": bindings.Event_ReportFinalised, "DisputeOpened": bindings.Event_DisputeOpened, "DisputeVoted": bindings.Event_DisputeVoted,
	"DisputeResolved": bindings.Event_DisputeResolved, "OutputsResolved": bindings.Event_OutputsResolved, "FaultOpened": bindings.Event_FaultOpened,
	"SlashApplied": bindings.Event_SlashApplied, "SlashCompensated": bindings.Event_SlashCompensated, "SlashClosed": bindings.Event_SlashClosed,
	"AuctionOpened": bindings.Event_AuctionOpened, "AuctionAwarded": bindings.Event_AuctionAwarded, "FaultVoided": bindings.Event_FaultVoided,
	"FaultAppealed": bindings.Event_FaultAppealed, "OutputCommitted": bindings.Event_OutputCommitted, "OutputRevealed": bindings.Event_OutputRevealed,
	"LeaseAborted": bindings.Event_LeaseAborted, "LeaseDeclined": bindings.Event_LeaseDeclined, "LeaseRated": bindings.Event_LeaseRated, "LeaseCheckpointed": bindings.Event_LeaseCheckpointed,
}

// line is an event in a log.
func line(t *testing.T, value any) string {
	t.Helper()
	kind, known := eventKinds[reflect.TypeOf(value).Elem().Name()]
	require.True(t, known, "%T", value)
	data, err := value.(interface{ Marshal() ([]byte, error) }).Marshal()
	require.NoError(t, err)
	return "Program data: " + base64.StdEncoding.EncodeToString(append(kind[:], data...))
}

// land makes what a node serves of a transaction: all its events come from its last instruction.
func land(t *testing.T, tx Tx) chain.Landed {
	t.Helper()
	l := chain.Landed{
		Signature: tx.Signature, Slot: tx.Slot, BlockTime: tx.Time, Tx: &solana.Transaction{}, Inner: map[int][]solana.CompiledInstruction{},
	}
	at := func(key solana.PublicKey) uint16 {
		i := slices.Index(l.Keys, key)
		if i < 0 {
			i, l.Keys = len(l.Keys), append(l.Keys, key)
		}
		return uint16(i)
	}
	for i, in := range tx.Instructions {
		ix := solana.CompiledInstruction{ProgramIDIndex: at(in.Program), Data: in.Data}
		for _, a := range in.Accounts {
			ix.Accounts = append(ix.Accounts, at(a))
		}
		l.Tx.Message.Instructions = append(l.Tx.Message.Instructions, ix)
		if in.Program != market.ProgramID {
			continue
		}
		l.Logs = append(l.Logs, "Program "+in.Program.String()+" invoke [1]")
		if i == len(tx.Instructions)-1 {
			for _, e := range tx.Events {
				l.Logs = append(l.Logs, line(t, e.Value))
			}
		}
		l.Logs = append(l.Logs, "Program "+in.Program.String()+" success")
	}
	return l
}

// cuts are the ways in which a log says less than what happened.
var cuts = map[string]func(*chain.Landed){
	"truncated at the start":  func(l *chain.Landed) { l.Logs = []string{"Program Spam invoke [1]", "Log truncated"} },
	"truncated in the middle": func(l *chain.Landed) { l.Logs = []string{l.Logs[0], "Log truncated"} },
	"kept by nobody":          func(l *chain.Landed) { l.Logs = nil },
	"without the event": func(l *chain.Landed) {
		l.Logs = slices.DeleteFunc(slices.Clone(l.Logs), func(s string) bool { return len(s) > 14 && s[:14] == "Program data: " })
	},
}

// told is the ledger of a lease, with the vote that made its report final.
func (s *leaseHistory) told(t *testing.T) ledger {
	t.Helper()
	txs := s.txs(t)
	report := market.ReportAddress(uint64(s.leaf.Period))
	credits := pub("credits")
	with := func(i int, in Instruction) { txs[i].Instructions = append(txs[i].Instructions, in) }
	with(0, call(bindings.Instruction_OrderCreate, nil, pub("payer"), pub("market"), credits, s.order))
	with(1, call(bindings.Instruction_OrderAward, nil, pub("signer"), pub("keeper"), pub("market"), s.order, credits, s.node, pub("provider"), pub("model"), s.lease))
	with(2, call(bindings.Instruction_LeaseStart, nil, s.lease, s.order))
	with(3, call(bindings.Instruction_LeaseExtend, nil, s.lease))
	with(4, call(bindings.Instruction_LeaseSettleReceipt, nil, s.lease))
	txs[5].Instructions[0].Accounts = []solana.PublicKey{report, s.node, s.lease}
	with(6, call(bindings.Instruction_LeaseSettleReport, nil, s.lease))
	with(7, call(bindings.Instruction_LeaseEnd, nil, s.lease))
	with(8, call(bindings.Instruction_LeaseClose, nil, pub("authority"), s.lease, s.order))
	g := ledger{}
	for _, tx := range txs {
		g = append(g, land(t, tx))
	}
	root := s.roots[uint64(s.leaf.Period)]
	return append(g, land(t, Tx{
		Slot: 5, Signature: solana.Signature{0xaa}, Time: time.Unix(1_800_000_005, 0),
		Instructions: []Instruction{call(bindings.Instruction_ReportVote, nil, report)},
		Events: []market.Event{
			{Value: &bindings.ReportVoted{Period: uint64(s.leaf.Period), Root: root}},
			{Value: &bindings.ReportFinalised{Period: uint64(s.leaf.Period), Root: root}},
		},
	}))
}

// A log that says less than what happened makes the audit say that it does not know, and accuses nobody.
func TestALeaseWithACutLogIsNotJudged(t *testing.T) {
	s := newLeaseHistory(t)
	whole := s.told(t)
	o := Options{Source: whole, Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}
	l, err := AuditLease(t.Context(), o, s.lease)
	require.NoError(t, err)
	require.Empty(t, problemsOf(l))
	require.True(t, l.OK())

	kinds := []string{"order", "award", "start", "extend", "receipt", "leaf", "settlement", "end", "close", "the report's vote"}
	for i, kind := range kinds {
		for name, cut := range cuts {
			t.Run(kind+" "+name, func(t *testing.T) {
				g := slices.Clone(whole)
				cut(&g[i])
				o.Source = g
				l, err := AuditLease(t.Context(), o, s.lease)
				require.NoError(t, err)
				require.Empty(t, problemsOf(l), "nobody is accused of what was not read")
				require.False(t, l.OK())
				require.Equal(t, Unknown, l.Outcome())
				sum := l.Steps[len(l.Steps)-1]
				require.Equal(t, "sum", sum.Name)
				require.Equal(t, Unknown, sum.Outcome())
				require.Contains(t, sum.Text, "not known")
				require.False(t, l.Open, "the transaction that closed it says so without its log")
				require.True(t, slices.ContainsFunc(l.Steps, func(st Step) bool { return st.Name == "unread" && st.Signature == g[i].Signature }), "%s", g[i].Signature)
			})
		}
	}
}
