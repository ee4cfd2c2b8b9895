package signing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// routes are all requests; each but the first two is answered to the holder only.
func (s *Server) routes() {
	k := s.o.Key
	s.handle("hold", s.take)
	s.handle("release", s.release)
	route(s, "sign", func(in bytesBody) (bytesBody, error) {
		sig, err := k.Sign(in.Bytes)
		return bytesBody{sig[:]}, err
	})
	route(s, "statements/sign", s.signStatements)
	route(s, "statements", s.statements)
	route(s, "knows", func(in bytesBody) (yesAnswer, error) {
		st, err := statementOf(in.Bytes)
		if err != nil {
			return yesAnswer{}, err
		}
		yes, err := k.Knows(st)
		return yesAnswer{yes}, err
	})
	route(s, "seal", func(in periodBody) (empty, error) { return empty{}, k.Seal(in.Period) })
	route(s, "sealed", func(empty) (periodBody, error) {
		p, err := k.Sealed()
		return periodBody{p}, err
	})
	route(s, "manifest", func(in manifestRequest) (empty, error) {
		digest, err := bytes32(in.Digest)
		if err != nil {
			return empty{}, err
		}
		return empty{}, k.PutManifest(in.Period, store.SetRef{Count: in.Count, Size: in.Size, Digest: digest})
	})
	route(s, "vote", putRoot(k.Vote))
	route(s, "voted", func(in periodBody) (rootBody, error) {
		root, err := k.Voted(in.Period)
		return rootBody{Period: in.Period, Root: root[:]}, err
	})
	route(s, "proposal/put", putRoot(k.PutProposal))
	route(s, "proposal", getRoot(k.Proposal))
	route(s, "leaves/put", putRoot(k.PutLeaves))
	route(s, "leaves", getRoot(k.Leaves))
	s.routesOfOthers()
}

// routesOfOthers are those of proofs, bids and upkeep.
func (s *Server) routesOfOthers() {
	k := s.o.Key
	route(s, "proof/put", func(in proofBody) (empty, error) { return empty{}, k.PutProof(in.Name, in.Bytes) })
	route(s, "proof/drop", func(in proofBody) (empty, error) { return empty{}, k.DropProof(in.Name) })
	route(s, "proofs", func(empty) (proofsAnswer, error) {
		all, err := k.Proofs()
		return proofsAnswer{all}, err
	})
	route(s, "bids/put", s.putBids)
	s.handle("bids", s.bids)
	route(s, "bid-set/put", func(in bidSetBody) (empty, error) {
		a, keeper, err := in.names()
		if err != nil {
			return empty{}, err
		}
		return empty{}, k.PutBidSet(a, keeper, in.Bytes)
	})
	route(s, "bid-set", func(in bidSetBody) (bytesBody, error) {
		a, keeper, err := in.names()
		if err != nil {
			return bytesBody{}, err
		}
		raw, err := k.BidSet(a, keeper)
		return bytesBody{raw}, err
	})
	route(s, "bid-set/last", func(in bidSetBody) (bidSetBody, error) {
		a, keeper, err := in.names()
		if err != nil {
			return bidSetBody{}, err
		}
		last, err := k.LastBidSet(a.Order, keeper)
		return bidSetBody{CloseAt: last.CloseAt, Order: last.Order[:], Keeper: keeper[:]}, err
	})
	route(s, "prune", func(in periodBody) (countAnswer, error) {
		n, err := k.Prune(in.Period)
		return countAnswer{n, k.FirstPeriod()}, err
	})
	route(s, "bids/prune", func(in fromRequest) (countAnswer, error) {
		n, err := k.PruneBids(in.From)
		return countAnswer{n, k.FirstPeriod()}, err
	})
	route(s, "pack", func(empty) (countAnswer, error) {
		n, err := k.Pack()
		return countAnswer{n, k.FirstPeriod()}, err
	})
	route(s, "freeze", func(in textRequest) (empty, error) {
		s.o.Log.Error().Str("why", in.Text).Msg("a keeper stops all signing with this key's store")
		return empty{}, k.Freeze(in.Text)
	})
	route(s, "frozen", func(empty) (empty, error) { return empty{}, k.Frozen() })
}

func statementOf(raw []byte) (records.CheckStatement, error) {
	st, err := records.DecodeStatement(raw)
	if err != nil {
		return st, fmt.Errorf("%w: %w", errBody, err)
	}
	return st, nil
}

func (s *Server) signStatements(in listBody) (signedAnswer, error) {
	all := make([]records.CheckStatement, len(in.List))
	for i, raw := range in.List {
		st, err := statementOf(raw)
		if err != nil {
			return signedAnswer{}, err
		}
		all[i] = st
	}
	signed, refused, err := s.o.Key.SignStatements(all)
	out := signedAnswer{Signed: encodeSigned(signed)}
	for _, r := range refused {
		enc := r.Statement.Encode()
		out.Refused = append(out.Refused, refusal{enc[:], codeOf(r.Err)})
	}
	return out, err
}

func encodeSigned(all []store.Signed) [][]byte {
	out := make([][]byte, len(all))
	for i, x := range all {
		enc := x.Statement.Encode()
		out[i] = append(enc[:], x.Signature[:]...)
	}
	return out
}

func (s *Server) statements(in aboutRequest) (signedAnswer, error) {
	var all []store.Signed
	var err error
	if len(in.Node) == 0 {
		all, err = s.o.Key.Statements(in.Period)
	} else {
		var node [32]byte
		if node, err = bytes32(in.Node); err == nil {
			all, err = s.o.Key.StatementsAbout(in.Period, node)
		}
	}
	return signedAnswer{Signed: encodeSigned(all)}, err
}

func putRoot(f func(records.Period, records.Hash, []byte) error) func(rootBody) (empty, error) {
	return func(in rootBody) (empty, error) {
		root, err := bytes32(in.Root)
		if err != nil {
			return empty{}, err
		}
		return empty{}, f(in.Period, root, in.Bytes)
	}
}

func getRoot(f func(records.Period, records.Hash) ([]byte, error)) func(rootBody) (bytesBody, error) {
	return func(in rootBody) (bytesBody, error) {
		root, err := bytes32(in.Root)
		if err != nil {
			return bytesBody{}, err
		}
		raw, err := f(in.Period, root)
		return bytesBody{raw}, err
	}
}

func (s *Server) putBids(in bidsRequest) (empty, error) {
	order, err := bytes32(in.Order)
	if err != nil {
		return empty{}, err
	}
	bids := map[[32]byte][]byte{}
	for name, raw := range in.Bids {
		node, err := solana.PublicKeyFromBase58(name)
		if err != nil {
			return empty{}, fmt.Errorf("%w: node %q", errBody, name)
		}
		bids[node] = raw
	}
	return empty{}, s.o.Key.PutBids(store.AuctionKey{CloseAt: in.CloseAt, Order: order}, bids)
}

// bids writes a line for each bid: there may be many.
func (s *Server) bids(by Holder, w http.ResponseWriter, r *http.Request) error {
	var in fromRequest
	if err := decode(w, r, &in); err != nil {
		return err
	}
	// The lines are written afterwards: a keeper that reads slowly must not keep the hold from passing on.
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	err := s.hold.do(by, func() error {
		return s.o.Key.EachBid(in.From, func(a store.AuctionKey, node [32]byte, raw []byte) error {
			return out.Encode(bidLine{CloseAt: a.CloseAt, Order: a.Order[:], Node: node[:], Bytes: raw})
		})
	})
	last := bidLine{End: true}
	if err != nil {
		last = bidLine{failure: failure{codeOf(err), err.Error()}}
	}
	if err := out.Encode(last); err != nil {
		return err
	}
	_, err = lines.WriteTo(w)
	return err
}

func (b bidSetBody) names() (a store.AuctionKey, keeper solana.PublicKey, err error) {
	order, err := bytes32(b.Order)
	if err != nil {
		return a, keeper, err
	}
	k, err := bytes32(b.Keeper)
	return store.AuctionKey{CloseAt: b.CloseAt, Order: order}, k, err
}
