package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/sdk/market"
)

// readSealed is read for output that a measured guest has sealed. Its records open from the first one on alone, so that all are read. An
// offset is one of the output that was opened.
func (g *Logs) readSealed(ctx context.Context, l market.Lease, keys [][]byte, offset uint64, follow bool, take func(Output) error) (reached uint64, ended bool, err error) {
	o := opener{take: take, from: offset}
	for _, key := range keys {
		r, err := seal.Again(key)
		if err != nil {
			return offset, false, fmt.Errorf("output of lease %s: %w", l.Address, err)
		}
		o.readers = append(o.readers, r)
	}
	o.end = func(e control.End) {
		if g.End != nil {
			g.End(l.Address, e)
		}
	}
	_, ended, err = g.read(ctx, l, 0, follow, o.add)
	return max(offset, o.at), ended, err
}

// opener opens sealed output as it comes.
type opener struct {
	frames  control.Frames
	readers []*seal.Reader // of which one is right
	at      uint64         // so much was opened
	from    uint64         // and only what is behind this is given to take
	take    func(Output) error
	end     func(control.End)
}

func (o *opener) add(raw Output) error {
	records, err := o.frames.Add(raw.Data)
	for _, sealed := range records {
		plain, oerr := o.open(sealed)
		if oerr != nil {
			return changed(oerr)
		}
		r, rerr := control.ReadRecord(plain)
		if rerr != nil {
			return changed(rerr)
		}
		if r.End != nil {
			o.end(*r.End)
		}
		if terr := o.give(r.Output); terr != nil {
			return terr
		}
	}
	if err != nil {
		return changed(err)
	}
	return nil
}

// open opens a record. The first one shows which key is the right one.
func (o *opener) open(sealed []byte) ([]byte, error) {
	for _, r := range o.readers {
		if plain, err := r.Open(sealed); err == nil {
			o.readers = []*seal.Reader{r}
			return plain, nil
		}
	}
	return nil, seal.ErrBack
}

// give hands on what is new.
func (o *opener) give(data []byte) error {
	begin := o.at
	o.at += uint64(len(data))
	if o.at <= o.from || len(data) == 0 {
		return nil
	}
	if begin < o.from {
		data, begin = data[o.from-begin:], o.from
	}
	return o.take(Output{Offset: begin, Data: data})
}

// errSealed: the reader does not have the key.
var errSealed = Refused("a measured guest has sealed this output, and its key is not in this folder of purchases",
	"read it on the computer that has ordered the lease, with the key file or the server that did")

// changed refuses output that did not open.
func changed(err error) error {
	return &Failure{
		Code: CodeRefused, Reason: "the output was changed on its way, or is not that of your guest: " + err.Error(),
		Advice: "do not use it: end the lease with gantry stop, and order from another machine", Cause: err,
	}
}

// unsealed passes output on that is not sealed.
func unsealed(take func(Output) error) func(Output) error {
	return func(o Output) error {
		if o.Offset == 0 && strings.HasPrefix(string(o.Data), control.SealedOutput) {
			return errSealed
		}
		return take(o)
	}
}
