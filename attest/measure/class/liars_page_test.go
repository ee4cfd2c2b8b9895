package class

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/attest/measure"
)

const liarsHead = `# Liars: what each of them reaches when it is measured

Written by ` + "`go test ./attest/measure/class -run TestLiars -update`" + `. The test plays each liar's times to the code with which keepers judge ([figures](../../attest/measure/figures.go),
[thresholds](../../attest/measure/class/gpus.go)), and fails when a liar of a calibrated class passes. Rates of the H100 and H200 (SXM) are
[measured](gpus.md). **Those of all other classes are assumed.** They are %.0f %% of the data sheet's operations and %.0f %% of its bandwidth, as the H100 has. Chains side by
side have %.0f %% of the operations. "Best kernels" reach %.0f %% of the sheet; nobody has written them. What attacks on the other rules earn is in [their table](attacks.md). What
stops liars is in [the format](../protocol/measurement.md#what-an-attacker-tries).

## Two nodes on one card
The second node needs no card of its own if its chain runs beside the first one's, and if its memory is filled after the first has walked. Three things
stop it. A machine is of its class from %d %% of the median on. A run that is shorter than its profile asks for counts as long. And a run's memory counts
only where its commitment comes %.2f s after the profile's times and a round at the latest (` + "`MaxOverrun`" + `). Else nothing is known of the machine. It gets no orders
until it is measured. "Late by" is how long after that limit the second node commits, with the best kernels. It walks through items that it keeps and, beside that, items that it computes anew, and a ninth of its memory is there beside
the first one's. An owner with a validator sees the block a second earlier, which is not in the table.

| class | needs, TOPS | needs, GB/s | a second node by today's kernels, %% of what it needs | by the best | late by | nodes on a card: today's kernels | best |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

const liarsRest = `
Where a class is not calibrated, its floors let several nodes share a card: a short walk is enough for them. Floors keep out machines without a GPU, and no more.

## A machine without a GPU, and one that has it for a moment
A thread of a server's processor makes 0.157 · 10¹² operations a second by the format ([measured](gpu-table.md)). "Threads" are those that a machine without a GPU needs for one
GPU of the class. A processor's matrix units were not tried, and may be several times as fast. "2 s" is a machine that has a card for two seconds of the chain, with its
whole rate. "PCIe" is memory that is kept on the host, at 64 GB/s at most. "Missing" is the part of the memory that need not be there, because the best kernels make its items
anew. The first figure is for walks that wait for them, the second for walks that do not.

| class | threads | 2 s: % of what it needs, before | now | PCIe: % | missing: at 0.525 of the median, before | at 0.72, now |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
`

const liarsEnd = `
- **The walk of an H200 is a weak test of its size.** An H100 has 60 % of the memory that is asked for, and with the best kernels it makes the rest anew. Items of 2 KiB in place of 128 bytes
  should be read several times as fast, as addresses are translated less often. The products stay as slow. That needs new kernels, and both calibrations again. A card behind
  NVLink (450 GB/s) passes the H200's walk too.
- **Uncalibrated classes.** A weaker GPU passes, and a second node on the card. Memory on the host passes where "PCIe" is 100 % or more. "Missing" of 100 % says that the walk shows no
  memory. Their orders can ask for figures (` + "`--min-tops`, `--min-bandwidth`" + `).

## Other liars
| liar | what it gets | what it costs |
| --- | --- | --- |
| refuses, hangs, is late or asleep at the instant | no figure; no orders until it is measured | with five keepers or fewer, refusing costs a tenth of the stake |
| FP8, low digits, Strassen | both bytes of an entry need its exact 32 bits: twice the work or more | half of the stake for a wrong byte |
| leaves out 1 % of the leaves | passes seven members in 1 of 90 checks | half of the stake by the proof |
| keeps 1 % of the bytes wrong | passes seven members with 10⁻⁸ (1,792 items are opened) | figures; wrong steps are not proven on chain |
| another node's answer, another period's, another cluster's | nothing: all are in the nonce | |
| leases one of its eight GPUs to itself for a year at 1 µUSDC an hour | no measurement by keepers, and its figures and class stay | 0.0088 USDC, of which the fee is 0.001. Customers with ` + "`--verify auto`" + ` measure it before they pay, since its figures are old. The bound of 24 periods is a compare in the program, for which it has to be built anew |
| refuses always, and leases itself a second of each hour | its class and figures: it is never free for a whole period (finding M 9) | failed checks; stake with five keepers or fewer. Customers with ` + "`--verify auto`" + `, the default, measure it before they pay |
| invents the results of a tenth of its walks | a member passes it with 0.66, four of seven with 0.81: then it has 11 % more bandwidth, else no figure | failed checks by a third of its members |
| relays the run to a better card elsewhere | its class, for 16.5 s of that card an hour; it was 2.5 s while short runs counted | the stake of its class; customers' measurements |
| throttles between the instants | its class | customers' inspections |
`

func pageOfLiars(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, liarsHead, 100*assumedOperations, 100*assumedBandwidth, 100*assumedTogether, 100*bestKernels, sellsPercent, measure.MaxOverrun.Seconds())
	for i := range t.Classes {
		c := cardOf(&t.Classes[i])
		today, _ := c.seen(c.shared(2, c.together))
		best, over := c.seen(c.shared(2, c.best))
		late := "in time"
		if over > measure.MaxOverrun {
			late = fmt.Sprintf("%.2f s", (over - measure.MaxOverrun).Seconds())
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.0f | %.0f | %s | %d | %d |\n", c.label(), c.askedOps/1e12, c.askedBytes/1e9,
			100*today.Operations/c.askedOps, 100*best.Operations/c.askedOps, late, c.nodes(c.together), c.nodes(c.best))
	}
	b.WriteString(liarsRest)
	for i := range t.Classes {
		c := cardOf(&t.Classes[i])
		short, _ := c.seen(run{rate: c.alone, ends: 2, bytes: c.walking() * c.walk, commitment: 2 + c.walking()})
		before := "–"
		if c.gpu.Measured != nil {
			before = percents(c.missing(0.525 * c.walk))
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.0f | %.0f | %s | %s |\n", c.label(), c.askedOps/oneThread,
			100*c.alone/c.askedOps, 100*short.Operations/c.askedOps, 100*overPCIe/c.askedBytes, before, percents(c.missing(c.askedBytes)))
	}
	b.WriteString(liarsEnd)
	return b.String()
}

// label is the class's name, in bold where its rates are measured.
func (c card) label() string {
	if c.gpu.Measured != nil {
		return "**" + c.gpu.Name + "**"
	}
	return c.gpu.Name
}

func percents(serial, beside float64) string {
	return fmt.Sprintf("%.0f to %.0f %%", 100*serial, 100*beside)
}
