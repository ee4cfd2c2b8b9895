package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/template"
)

// Templates are those that orders and deployments may name.
type Templates struct {
	Templates []template.Template `json:"templates" doc:"By name"`
}

type templateInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" doc:"Name of the template"`
}

// TemplateOrder orders a template. What it does not say is as the template says.
type TemplateOrder struct {
	Set            map[string]string `json:"set,omitempty" doc:"Values of the template's parameters"`
	GPU            string            `json:"gpu,omitempty" maxLength:"32" doc:"GPU model; the one of the template's try, with its price, by default"`
	Count          uint8             `json:"count,omitempty" maximum:"8" doc:"GPUs"`
	Region         string            `json:"region,omitempty" maxLength:"16" doc:"Prefix of the region"`
	MaxPrice       string            `json:"maxPricePerGpuHour,omitempty" maxLength:"24" doc:"The most USDC per GPU-hour; the model's reference price where gpu is given and this is not"`
	Seconds        uint32            `json:"seconds,omitempty" doc:"How long; the minutes of the template's try by default"`
	Image          string            `json:"image,omitempty" maxLength:"512" doc:"Another image, such as one pinned by digest"`
	Network        string            `json:"network,omitempty" enum:"internet,none" doc:"What the container may reach"`
	Volume         string            `json:"volume,omitempty" maxLength:"256" doc:"Another volume, NAME:SIZE:PATH"`
	Keep           bool              `json:"keep,omitempty" doc:"Keep the volume in the server's bucket under its name, as for other orders"`
	AllowSimulated bool              `json:"allowSimulated,omitempty" doc:"Simulated GPUs too, on local networks"`
	Inspect        string            `json:"inspect,omitempty" enum:"auto,always,never" doc:"Measure the machine once at a random second of the lease, as for other orders"`
	Attest         string            `json:"attest,omitempty" maxLength:"196608" doc:"A policy that each machine must satisfy before it gets the job, as for other orders"`
	Guest          bool              `json:"guest,omitempty" doc:"Run the image in a measured guest, as for other orders. A model cannot: a guest has no GPU"`
	Migrate        bool              `json:"migrate,omitempty" doc:"When the machine fails, another one takes the job, as for other orders"`
	UntilStopped   bool              `json:"untilStopped,omitempty" doc:"Extend the lease until it is stopped or the budget is used up, as for other orders"`
	Budget         string            `json:"budget,omitempty" maxLength:"24" doc:"The most USDC that the order and its extensions may cost, with untilStopped"`
}

type templateOrderInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" doc:"Name of the template"`
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Names the purchase; a random one, such as a UUID"`
	Body TemplateOrder
}

// registerTemplates adds the operations.
func (s *Server) registerTemplates(api huma.API, order huma.Operation) {
	huma.Register(api, read("list-templates", "/v1/templates", "Known programs that can be ordered by name"), func(context.Context, *struct{}) (*reply[Templates], error) {
		all := Templates{Templates: []template.Template{}}
		for _, t := range s.o.Templates {
			all.Templates = append(all.Templates, *t)
		}
		return &reply[Templates]{all}, nil
	})
	huma.Register(api, read("get-template", "/v1/templates/{name}", "One template"), func(_ context.Context, in *templateInput) (*reply[template.Template], error) {
		t, err := s.template(in.Name)
		if err != nil {
			return nil, err
		}
		return &reply[template.Template]{*t}, nil
	})
	order.OperationID, order.Path, order.Summary = "order-template", "/v1/templates/{name}/orders", "Buy compute and run a template on it"
	order.Errors = slices.Clone(order.Errors)
	huma.Register(api, order, s.orderTemplate)
	later(api.OpenAPI().Paths[order.Path].Post, "201", "The purchase continues; repeat the request to learn more")
}

func (s *Server) template(name string) (*template.Template, error) {
	t, err := s.o.Templates.Named(name)
	if err != nil {
		return nil, problem(http.StatusNotFound, err.Error(), "see /v1/templates")
	}
	return t, nil
}

func (s *Server) orderTemplate(ctx context.Context, in *templateOrderInput) (*orderOutput, error) {
	t, err := s.template(in.Name)
	if err != nil {
		return nil, err
	}
	return s.orderAs(ctx, in, t, t.Name)
}

// orderAs orders what a template stands for, and gives the order a label.
func (s *Server) orderAs(ctx context.Context, in *templateOrderInput, t *template.Template, label string) (*orderOutput, error) {
	r, _, err := orderOf(t, in.Body)
	if err != nil {
		return nil, err
	}
	out, err := s.order(ctx, &orderInput{Key: in.Key, Body: r})
	if err == nil {
		s.labelled(out.Body.Order, label)
	}
	return out, err
}

// orderOf is the order that a template stands for, and what it renders to.
func orderOf(t *template.Template, o TemplateOrder) (OrderRequest, template.Job, error) {
	j, err := t.Render(o.Set)
	if errors.Is(err, template.ErrParameter) {
		return OrderRequest{}, j, problem(http.StatusUnprocessableEntity, err.Error(), "see /v1/templates/"+t.Name)
	}
	if err != nil {
		return OrderRequest{}, j, failed(err)
	}
	r := buy.Request{
		GPU: o.GPU, Count: max(o.Count, j.GPUs), Region: o.Region, MaxPrice: o.MaxPrice, Seconds: o.Seconds, Image: o.Image, Network: o.Network, Volume: o.Volume, Keep: o.Keep,
		AllowSimulated: o.AllowSimulated, Inspect: o.Inspect, Attest: o.Attest, Guest: o.Guest, Migrate: o.Migrate, UntilStopped: o.UntilStopped, Budget: o.Budget,
	}
	if err := r.Fill(&j); err != nil {
		return OrderRequest{}, j, failed(err)
	}
	return OrderRequest(r), j, nil
}
