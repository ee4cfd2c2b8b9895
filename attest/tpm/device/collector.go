package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// Collector makes evidence of kind [attest.KindTPM].
type Collector struct {
	Device *Device
	// Statements returns what keepers signed about this TPM: see [tpm.Statement]. May be nil.
	Statements func() []tpm.Statement
	// Note is told what was left out of the evidence and why. May be nil.
	Note func(text string)
}

var _ attest.Collector = (*Collector)(nil)

// Collect implements [attest.Collector]. The nonce is [attest.Binding.Qualifying]: the quote binds all other evidence,
// so it comes last. A machine without a TPM, or with one that has no certificate, gives [attest.ErrAbsent].
func (c *Collector) Collect(ctx context.Context, nonce [32]byte) ([]attest.Evidence, error) {
	q, err := c.Device.Quote(ctx, nonce)
	if err != nil {
		return nil, err
	}
	items := map[string][]byte{
		tpm.ItemAK: q.AK, tpm.ItemEK: q.EK, tpm.ItemEKChain: q.Chain, tpm.ItemQuote: q.Quote, tpm.ItemSignature: q.Signature,
		tpm.ItemPCRs: q.PCRs.Encode(), tpm.ItemLog: c.log(q.PCRs),
	}
	if c.Statements != nil {
		items[tpm.ItemStatements] = tpm.EncodeStatements(c.Statements())
	}
	e := attest.Evidence{Kind: attest.KindTPM}
	for name, data := range items {
		if len(data) > 0 {
			e.Items = append(e.Items, attest.Item{Name: name, Data: data})
		}
	}
	sort.Slice(e.Items, func(i, j int) bool { return e.Items[i].Name < e.Items[j].Name })
	return []attest.Evidence{e}, nil
}

// log returns the event log if it can be read and explains the firmware's PCRs. One that does not would only be
// refused.
func (c *Collector) log(pcrs tpm.PCRs) []byte {
	note := func(format string, args ...any) []byte {
		if c.Note != nil {
			c.Note("TPM event log left out: " + fmt.Sprintf(format, args...))
		}
		return nil
	}
	log, err := readLog(c.Device.opts.LogPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return note("this machine has none at %s", c.Device.opts.LogPath)
	case err != nil:
		return note("%v", err)
	}
	report, err := tpm.ReplayLog(log, pcrs)
	if err != nil {
		return note("%v", err)
	}
	if wrong := report.Differs & tpm.FirmwarePCRs; wrong != 0 {
		return note("its events do not give the values of PCRs %s", wrong)
	}
	return log
}

func readLog(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	log, err := io.ReadAll(io.LimitReader(f, tpm.MaxLog+1))
	if err == nil && len(log) > tpm.MaxLog {
		err = fmt.Errorf("%s has more than %d bytes", path, tpm.MaxLog)
	}
	return log, err
}
