package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/gagliardetto/solana-go"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	customer = solana.PublicKey{1}
	session  = solana.PublicKey{2}
	mine     = solana.PublicKey{7}
)

// world is a market of one node, where the customer has one lease.
type world struct{ output string }

func (w *world) BestOffers(_ context.Context, terms string, _ service.SortBy, _ int) (service.Found, error) {
	if _, err := service.ParseTerms(terms); err != nil {
		return service.Found{}, err
	}
	if terms != "" {
		return service.Found{Unfit: map[string]int{"too dear": 1}}, nil
	}
	return service.Found{Offers: []service.Offer{{Address: "node", Model: "A100", Price: "3.60"}}}, nil
}

func (w *world) Leases(_ context.Context, who solana.PublicKey) ([]service.Lease, error) {
	if who != customer {
		return nil, nil
	}
	code := int32(3)
	return []service.Lease{{Address: mine.String(), Status: "active", GPUs: 2, Price: "3.60", Used: 60, Cost: "0.12", Paid: "0.06", Reserved: "1.20", ExitCode: &code}}, nil
}

// Names is what people call the leases.
func (w *world) Names(_ context.Context, leases []service.Lease) {
	for i := range leases {
		leases[i].Name = "nightly"
	}
}

func (w *world) Lease(ctx context.Context, who, address solana.PublicKey) (service.Lease, error) {
	if address != mine {
		return service.Lease{}, &service.Failure{Code: service.CodeUsage, Reason: "the customer has no lease", Advice: "look", Cause: service.ErrNoLease}
	}
	all, err := w.Leases(ctx, who)
	return all[0], err
}

func (w *world) Quote(_ context.Context, who, key solana.PublicKey, r service.QuoteRequest) (service.Quote, error) {
	if r.GPU != "A100" {
		return service.Quote{}, service.Usage("GPU model is not known", "see search")
	}
	return service.Quote{Model: r.GPU, Seconds: r.Seconds, Most: "0.60", Best: []service.Offer{}, Possible: true}, nil
}

func (w *world) Audit(_ context.Context, lease solana.PublicKey) (service.Audit, error) {
	return service.Audit{Lease: lease.String(), Outcome: "unknown", Steps: []service.Step{{Name: "unread", Outcome: "unknown", Unknown: "the log was cut"}}}, nil
}

func (w *world) Why(_ context.Context, address solana.PublicKey) (service.Why, error) {
	return service.Why{Address: address.String(), Kind: "order", Reason: service.WhyNoMachine, Says: "1 machine needed, 0 fit now", Unfit: map[string]int{"too dear": 2}}, nil
}

func (w *world) Cluster(context.Context) (service.Cluster, error) {
	return service.Cluster{Name: "localnet", Nodes: []string{}, Slot: 7}, nil
}

func (w *world) Account(_ context.Context, who, key solana.PublicKey) (service.Account, error) {
	return service.Account{Customer: who.String(), Free: "40.00", Session: service.Limit{Key: key.String(), Cap: "20.00", Left: "18.80"}}, nil
}

// Starts, Runs and Offers implement serve.Latencies.
func (w *world) Starts(_ context.Context, _ string, offers []service.Offer) ([]service.Offer, error) {
	return service.WithStarts(offers, records.Hash{1}, service.Machines{"node": {Answered: true}}, []service.StartVote{{Node: "node", Start: records.Start{Outcome: records.StartRan}}}), nil
}

func (w *world) Runs(_ context.Context, image string, _ []service.Offer) (*service.ImageRuns, error) {
	if image != "a/b" {
		return nil, service.Usage("no image", "name one")
	}
	return &service.ImageRuns{Fails: true, Says: "failed on driver 595.x: 1 of 1 " + image}, nil
}

func (w *world) Offers(context.Context, []service.Offer) ([]service.Offer, error) {
	return nil, errors.ErrUnsupported
}

func (w *world) Output(ctx context.Context, lease solana.PublicKey) (serve.Output, error) {
	_, err := w.Lease(ctx, customer, lease)
	return w, err
}

func (w *world) Read(_ context.Context, offset uint64, take func(service.Output) error) (bool, error) {
	return true, take(service.Output{Offset: offset, Data: []byte(w.output[offset:])})
}

func (w *world) Follow(context.Context, uint64, func(service.Output) error) error {
	return errors.ErrUnsupported
}

func (w *world) Close() {}

func (w *world) Job(ctx context.Context, lease solana.PublicKey) (service.Job, error) {
	_, err := w.Lease(ctx, customer, lease)
	return service.Job{Lease: lease.String(), State: service.JobWaiting, Image: &service.Image{Phase: service.ImageFetching, Done: 3, Total: 11, Rate: 2, Layers: 4, Finished: 1}}, err
}

// connect is a client of a server.
func connect(t *testing.T, w *world) *sdk.ClientSession {
	t.Helper()
	near, far := sdk.NewInMemoryTransports()
	server, err := New(Options{Market: w, Outputs: w, Jobs: w, Machines: w, Customer: customer, Session: session, Version: "test", Names: w.Names}).Connect(t.Context(), far, nil)
	require.NoError(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Wait()
	})
	return client
}

// call calls a tool and decodes its answer, or returns the text of its error.
func call(t *testing.T, c *sdk.ClientSession, tool string, args map[string]any, into any) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil { // of a tool that there is not
		return err.Error()
	}
	require.Len(t, r.Content, 1)
	text, ok := r.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	if r.IsError {
		return text.Text
	}
	if into != nil {
		require.NoError(t, json.Unmarshal([]byte(text.Text), into))
	}
	return ""
}

func TestToolsOnlyRead(t *testing.T) {
	list, err := connect(t, &world{}).ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
		require.NotEmpty(t, tool.Description, tool.Name)
		require.NotNil(t, tool.OutputSchema, tool.Name)
	}
	require.ElementsMatch(t, []string{"search", "leases", "job", "logs", "costs", "quote", "status", "audit", "why", "list_volumes"}, names)
}

func TestTools(t *testing.T) {
	w := &world{output: "one\ntwo\n"}
	c := connect(t, w)

	var offers serve.Offers
	require.Empty(t, call(t, c, "search", nil, &offers))
	require.Len(t, offers.Offers, 1)
	require.Equal(t, "3.60", offers.Offers[0].Price)
	require.Empty(t, call(t, c, "search", map[string]any{"terms": "price<1"}, &offers))
	require.Empty(t, offers.Offers)
	require.Equal(t, map[string]int{"too dear": 1}, offers.Unfit)

	var leases serve.Leases
	for _, args := range []map[string]any{nil, {"lease": mine.String()}} {
		require.Empty(t, call(t, c, "leases", args, &leases))
		require.Equal(t, customer.String(), leases.Customer)
		require.Len(t, leases.Leases, 1)
		require.Equal(t, mine.String(), leases.Leases[0].Address)
		require.EqualValues(t, 3, *leases.Leases[0].ExitCode)
		require.Equal(t, "nightly", leases.Leases[0].Name)
	}

	var logs serve.Logs
	require.Empty(t, call(t, c, "logs", map[string]any{"lease": mine.String()}, &logs))
	require.Equal(t, serve.Logs{Lease: mine.String(), Next: 8, Text: "one\ntwo\n", Ended: true}, logs)
	require.Empty(t, call(t, c, "logs", map[string]any{"lease": mine.String(), "offset": 1, "tail": 4}, &logs))
	require.Equal(t, serve.Logs{Lease: mine.String(), Offset: 4, Next: 8, Text: "two\n", Ended: true}, logs)

	var quote service.Quote
	require.Empty(t, call(t, c, "quote", map[string]any{"gpu": "A100", "seconds": 600}, &quote))
	require.Equal(t, "0.60", quote.Most)
	require.Nil(t, quote.Image)
	require.Empty(t, call(t, c, "quote", map[string]any{"gpu": "A100", "seconds": 600, "image": "a/b"}, &quote))
	require.True(t, quote.Image.Fails)
	require.Equal(t, "failed on driver 595.x: 1 of 1 a/b", quote.Image.Says)
	require.NotEmpty(t, call(t, c, "quote", map[string]any{"gpu": "A100", "seconds": 600, "image": "A B"}, nil), "no name of an image")
	var found serve.Offers
	require.Empty(t, call(t, c, "search", map[string]any{"image": "a/b"}, &found))
	require.Equal(t, "ran on 1 of 1 machines", found.Image.Says)
	var status Status
	require.Empty(t, call(t, c, "status", nil, &status))
	require.EqualValues(t, 7, status.Cluster.Slot)
	require.Nil(t, status.Money)
	var audit service.Audit
	require.Empty(t, call(t, c, "audit", map[string]any{"lease": mine.String()}, &audit))
	require.False(t, audit.OK)
	require.Equal(t, "unknown", audit.Outcome)
	require.Equal(t, "the log was cut", audit.Steps[0].Unknown)
	var why service.Why
	require.Empty(t, call(t, c, "why", map[string]any{"address": mine.String()}, &why))
	require.Equal(t, service.WhyNoMachine, why.Reason)

	var costs Costs
	require.Empty(t, call(t, c, "costs", nil, &costs))
	require.Equal(t, session.String(), costs.Account.Session.Key)
	require.Equal(t, "18.80", costs.Account.Session.Left)
	require.Equal(t, []LeaseCost{{Lease: mine.String(), Status: "active", GPUs: 2, Price: "3.60", Used: 60, Cost: "0.12", Paid: "0.06", Reserved: "1.20"}}, costs.Leases)
}

// TestErrorsAreAnswers: a model reads what is wrong, and the next step.
func TestErrorsAreAnswers(t *testing.T) {
	c := connect(t, &world{output: "x"})
	for _, x := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"search", map[string]any{"terms": "colour=red"}, `search term "colour" is not known; `},
		{"search", map[string]any{"colour": "red"}, "colour"},
		{"search", map[string]any{"sort": "colour"}, `answers cannot be sorted by "colour"; sort by award, tops-price`},
		{"search", map[string]any{"limit": maxOffers + 1}, "limit 201 is not between 1 and 200; "},
		{"quote", map[string]any{"gpu": "H900", "seconds": 60}, "GPU model is not known; see search"},
		{"audit", map[string]any{"lease": "x"}, `"x" is not the address of a lease; `},
		{"deploy", map[string]any{"gpu": "A100"}, "deploy"},
		{"leases", map[string]any{"lease": "x"}, `"x" is not the address of a lease; the tool leases names them`},
		{"leases", map[string]any{"lease": session.String()}, "the customer has no lease; look"},
		{"logs", map[string]any{"lease": session.String()}, "the customer has no lease; look"},
		{"logs", map[string]any{"lease": mine.String(), "tail": maxTail + 1}, "tail 262145 is not between 1 and 262144 bytes; "},
		{"logs", nil, "lease"},
	} {
		require.Contains(t, call(t, c, x.tool, x.args, nil), x.want, x.tool)
	}
}

// TestServerEndsWithItsContext: a signal ends the command while its input stays open and silent.
func TestServerEndsWithItsContext(t *testing.T) {
	in, input := io.Pipe()
	output, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	server := New(Options{Market: &world{}, Outputs: &world{}, Customer: customer, Session: session, Version: "test"})
	go func() { done <- server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: out}) }()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: output, Writer: kept{input}}, nil)
	require.NoError(t, err)
	require.Empty(t, call(t, client, "costs", nil, nil))
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_ = client.Close()
	_ = input.Close()
}

// kept is a pipe that stays open when a client is closed.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }
