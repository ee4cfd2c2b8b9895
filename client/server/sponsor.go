package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/sponsor/desk"
)

// AddSponsor lets the server pay fees and rent of its callers with the key of a file, within limits a day, SOL; no file, no sponsor.
// Errors: service.Failure, those of [chain.LoadKeypair] and of the book's file.
func (s *Server) AddSponsor(file, caller, total string) error {
	if file == "" {
		return nil
	}
	var limits desk.Limits
	var bad [2]error
	limits.Caller, bad[0] = chain.ParseSOL(caller)
	limits.Total, bad[1] = chain.ParseSOL(total)
	if err := errors.Join(bad[:]...); err != nil || limits.Caller == 0 || limits.Total < limits.Caller {
		return service.Usage(fmt.Sprintf("--sponsor-day is %q and --sponsor-total %q", caller, total), "give SOL such as 0.02: a caller more than 0, and all callers at least as much")
	}
	key, err := chain.LoadKeypair(file)
	switch {
	case err != nil:
		return err
	case key.PublicKey() == s.a.Key.PublicKey(), key.PublicKey() == s.a.Customer:
		return service.Usage(fmt.Sprintf("--sponsor-key: %s is the server's session key, or its customer's wallet", key.PublicKey()), "make a key that has nothing but the SOL that it may pay: gantry key new sponsor.json")
	}
	book, err := desk.OpenBook(s.file("sponsor-"+key.PublicKey().String()+".db"), key.PublicKey())
	if err != nil {
		return err
	}
	s.end(book.Close)
	s.HTTP.Sponsor = desk.New(desk.Options{Key: key, Chain: s.a.Client, Book: book, Limits: limits, MaxFee: s.a.Fees.Most, Now: time.Now, Log: s.a.Log})
	return nil
}
