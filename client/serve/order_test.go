package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
)

// counter is a buyer whose purchases end when they are let go.
type counter struct {
	began chan string
	let   chan struct{}
}

func (c *counter) Buy(ctx context.Context, name string, _ OrderRequest) (Bought, error) {
	c.began <- name
	select {
	case <-c.let:
		return Bought{Order: "order of " + name, Leases: []service.Lease{}, Image: &service.ImageRuns{Tried: 2, Says: "ran on 2 of 2 machines"}}, nil
	case <-ctx.Done():
		return Bought{}, service.Interrupted("interrupted", "repeat it")
	}
}

func (c *counter) SoFar(_ context.Context, name string) (Bought, error) {
	return Bought{Order: "order of " + name, Leases: []service.Lease{{Address: "awarded"}}}, nil
}

func (c *counter) Stop(context.Context, solana.PublicKey) (service.Lease, error) {
	return service.Lease{}, errors.New("not asked")
}

func newCounter() *counter {
	return &counter{began: make(chan string, maxPurchases+2), let: make(chan struct{})}
}

func requireStatus(t *testing.T, err error, status int) {
	t.Helper()
	var p *Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, status, p.Status, p.Detail)
	require.NotEmpty(t, p.NextStep)
}

// Requests with one key share a purchase while it runs; one of another content is refused, and so is one too many.
func TestOrdersRunOnceForAKey(t *testing.T) {
	c := newCounter()
	o := New(Options{Store: testStore(t), Buyer: c, Log: zerolog.Nop()})
	_, err := o.orders.run(c, "", "a", OrderRequest{GPU: "A100"})
	requireStatus(t, err, http.StatusServiceUnavailable) // it does not serve yet
	end := o.orders.begin(t.Context())
	one, err := o.orders.run(c, "", "a", OrderRequest{GPU: "A100"})
	require.NoError(t, err)
	require.Equal(t, "a", <-c.began)
	two, err := o.orders.run(c, "", "a", OrderRequest{GPU: "A100"})
	require.NoError(t, err)
	require.Same(t, one, two)
	_, err = o.orders.run(c, "", "a", OrderRequest{GPU: "H100"})
	requireStatus(t, err, http.StatusConflict)
	for i := range maxPurchases - 1 {
		_, err := o.orders.run(c, "", fmt.Sprint(i), OrderRequest{GPU: "A100"})
		require.NoError(t, err)
		<-c.began
	}
	_, err = o.orders.run(c, "", "b", OrderRequest{GPU: "A100"})
	requireStatus(t, err, http.StatusServiceUnavailable)
	c.let <- struct{}{} // one of them is done
	close(c.let)
	<-one.done
	require.NoError(t, one.err)
	require.Equal(t, "order of a", one.bought.Order)

	// The next request begins the purchase again: the buyer knows that it was bought.
	three, err := o.orders.run(c, "", "a", OrderRequest{GPU: "A100"})
	require.NoError(t, err)
	<-three.done
	require.Equal(t, "a", <-c.began)
	end()
	require.Empty(t, c.began)
}

// A purchase that is not done yet says what it has come to.
func TestAPurchaseUnderWayNamesItsLeases(t *testing.T) {
	c := newCounter()
	s := New(Options{Store: testStore(t), Buyer: c, Log: zerolog.Nop()})
	defer s.orders.begin(t.Context())()
	out, err := s.orders.buy(t.Context(), c, "", "a", OrderRequest{GPU: "A100"}, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, Order{Key: "a", Phase: phaseBuying, Order: "order of a", Leases: []service.Lease{{Address: "awarded"}}}, out)
	close(c.let)
	out, err = s.orders.buy(t.Context(), c, "", "a", OrderRequest{GPU: "A100"}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, phaseBought, out.Phase)
	require.Equal(t, &service.ImageRuns{Tried: 2, Says: "ran on 2 of 2 machines"}, out.Image, "what was known of the image when it was ordered")
}

// A server that ends breaks its purchases off and waits for them.
func TestOrdersEndWithTheServer(t *testing.T) {
	c := newCounter()
	s := New(Options{Store: testStore(t), Buyer: c, Log: zerolog.Nop()})
	end := s.orders.begin(t.Context())
	b, err := s.orders.run(c, "", "a", OrderRequest{GPU: "A100"})
	require.NoError(t, err)
	end()
	<-b.done
	requireStatus(t, failed(b.err), http.StatusServiceUnavailable)
	_, err = s.orders.run(c, "", "a", OrderRequest{GPU: "A100"})
	requireStatus(t, err, http.StatusServiceUnavailable)
}

// An order, and one of a template, may be for a measured guest. A deployment of a model may not, and nothing is rented for it.
func TestAGuestIsOrdered(t *testing.T) {
	b := &recorder{}
	s, models, header := served(t, b)
	header["Idempotency-Key"] = "k"
	w, _ := ask(t, s, http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 600, "image": "debian:12", "guest": true, "attest": "{}"}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	header["Idempotency-Key"] = "l"
	w, _ = ask(t, s, http.MethodPost, "/v1/templates/ssh/orders", `{"gpu": "A100", "seconds": 600, "guest": true, "attest": "{}"}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Len(t, b.asked, 2)
	for _, r := range b.asked {
		require.True(t, r.Guest)
		require.Equal(t, "{}", r.Attest)
	}
	_, p := ask(t, s, http.MethodPut, "/v1/deployments/words", `{"model": "qwen3-8b", "minReplicas": 0, "maxReplicas": 1, "guest": true}`, header)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status)
	require.Len(t, p.Errors, 1)
	require.Equal(t, "body.guest", p.Errors[0].Location)
	require.Empty(t, models.Deployments())
}

// A policy that a command takes fits into an order over HTTP.
func TestAPolicyFitsIntoAnOrder(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[buy.Request](), reflect.TypeFor[TemplateOrder]()} {
		field, ok := of.FieldByName("Attest")
		require.True(t, ok)
		require.Equal(t, strconv.Itoa(attestation.MaxDocument), field.Tag.Get("maxLength"), of)
	}
	require.Less(t, attestation.MaxDocument+32<<10, maxBody)
}
